// Ways in for a picture: pick, paste, drop.

import { get } from "/dom.js";

export function onFile(open, complain) {
  const choose = (files) => files.length && open(files[0]);
  get("file").addEventListener("change", (event) => {
    choose(event.target.files);
    event.target.value = ""; // so that the same file may be chosen again
  });
  get("another").addEventListener("click", () => get("file").click());
  document.addEventListener("paste", (event) => choose(event.clipboardData.files));
  let over = 0; // how many elements deep a dragged file is
  const hover = (depth) => {
    over = Math.max(0, depth);
    get("landing").hidden = over === 0;
  };
  document.addEventListener("dragenter", (event) => {
    event.preventDefault();
    hover(over + 1);
  });
  document.addEventListener("dragleave", () => hover(over - 1));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    hover(0);
    if (event.dataTransfer.files.length) choose(event.dataTransfer.files);
    else complain("That was no file: drop a picture from a folder.");
  });
}
