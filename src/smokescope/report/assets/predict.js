"use strict";
// Switching, fading, sorting and hiding; the page reads without it too.
const bar = document.querySelector(".bar");
const rows = document.querySelector(".rows");
const all = [...rows.children]; // sorted by verdict, highest probability and area as they were written

function sorted(key) {
  if (key === "verdict") return all;
  if (key === "name") return [...all].sort((a, b) => a.dataset.name.localeCompare(b.dataset.name, undefined, { numeric: true }));
  return [...all].sort((a, b) => Number(b.dataset[key]) - Number(a.dataset[key])); // equals stay as they are
}

function update() {
  const chosen = new FormData(bar);
  document.body.dataset.map = chosen.get("map");
  document.body.classList.toggle("bare", !chosen.has("regions"));
  document.documentElement.style.setProperty("--fade", Number(chosen.get("fade")) / 100);
  const shown = chosen.getAll("verdict");
  for (const row of all) row.hidden = !shown.includes(row.dataset.verdict);
}

function sort() {
  const focused = document.activeElement;
  rows.append(...sorted(new FormData(bar).get("sort")));
  focused?.focus({ preventScroll: true });
}

bar.addEventListener("input", (event) => (event.target.name === "sort" ? sort() : update()));
bar.addEventListener("submit", (event) => event.preventDefault());
bar.reset(); // browsers remember what was chosen before a reload; the page begins as it was written
update();
