import { get } from "/dom.js";
import { onFile } from "/files.js";
import { Regions } from "/regions.js";
import { ask, hasToken, onToken } from "/service.js";
import { View, readMaps } from "/view.js";
import { MEANINGS, WORDS, describe, duration, figure, nameOf, percent } from "/words.js";

const SIDE = 1600; // of the maps asked for: finer than most screens show, and quick to send

const colours = await (await fetch("/colours.json")).json();
const view = new View(colours);
const regions = new Regions(view, colours);
let retry = null; // what to do again once there is a token
let asked = 0; // counts questions: an answer to an older one is not shown
let shown = 0; // the question whose picture is on the page
let result = null; // the name of the picture whose answer is on the page
let shipped = 0.5;

for (const [name, { ramp }] of Object.entries(colours.maps)) {
  for (const dot of document.querySelectorAll(`[data-map=${name}]`)) dot.style.setProperty("--dot", `#${ramp[165]}`);
}
for (const [verdict, parts] of Object.entries(colours.verdicts)) {
  for (const [part, colour] of Object.entries(parts)) document.documentElement.style.setProperty(part === "line" ? `--${verdict}` : `--${verdict}-${part}`, `#${colour}`);
}

async function greet() {
  retry = greet;
  try {
    const model = await ask("/v1/model");
    const size = model.parameters === null ? "" : `, ${(model.parameters / 1e6).toFixed(1)} M parameters`;
    get("model").textContent = `${model.name} · ${model.architecture}${size}, ${model.engine} on ${model.device} · smokescope ${model.smokescope}`;
    regions.thresholds = model.verdicts;
    retry = null;
  } catch (error) {
    if (error.status !== 401 || hasToken()) complain(error.message); // the token's field says enough at first
  }
}

// one picture, from its file to what is said of it

async function open(file) {
  const mine = ++asked;
  const name = nameOf(file);
  hideProblem();
  stale(result !== null);
  const url = URL.createObjectURL(file);
  const form = new FormData();
  form.append("file", file, "picture");
  get("status").textContent = `Looking at ${name} …`;
  const [answer, size] = await Promise.allSettled([
    ask(`/v1/segment?maps=all&side=${SIDE}`, { method: "POST", body: form }).then(async (told) => ({ ...told, maps: await readMaps(told) })),
    preview(url, name, mine),
  ]);
  if (mine !== asked) return;
  get("scan").hidden = true;
  if (answer.status === "rejected") {
    retry = () => open(file);
    if (shown === mine) reset(); // else the picture before is still there
    get("status").textContent = "";
    complain(`${name}: ${answer.reason.message}`);
    return;
  }
  retry = null;
  if (size.status === "rejected") {
    present("", name, answer.value.width / answer.value.height, mine); // the picture before is not this answer's
    complain(`${name}: This browser cannot show the picture; what was found in it is drawn without it.`);
  }
  tell(answer.value, name);
}

/** Show the picture while the service looks at it. */
async function preview(url, name, mine) {
  const probe = new Image();
  probe.src = url;
  try {
    await probe.decode();
  } catch (error) {
    URL.revokeObjectURL(url);
    throw error;
  }
  if (mine !== asked) return;
  present(url, name, probe.naturalWidth / probe.naturalHeight, mine);
  get("scan").hidden = false;
}

function present(url, name, aspect, mine) {
  shown = mine;
  URL.revokeObjectURL(get("picture").src);
  if (url) get("picture").src = url;
  else get("picture").removeAttribute("src");
  get("picture").alt = name;
  get("viewer").style.setProperty("--aspect", aspect);
  if (get("drop").contains(document.activeElement)) get("main").focus({ preventScroll: true });
  get("drop").hidden = true;
  get("viewer").hidden = get("another").hidden = false;
  clear();
  get("verdict-word").textContent = "Looking …";
}

function clear() {
  result = null;
  stale(false);
  view.show(null);
  regions.clear();
  for (const id of ["verdict-words", "facts", "covered", "probe"]) get(id).textContent = "";
  get("verdict").style.removeProperty("--verdict");
  get("no-regions").hidden = get("reset").hidden = true;
}

function reset() {
  clear();
  get("viewer").hidden = get("another").hidden = true;
  get("drop").hidden = false;
  get("file").focus();
}

function tell(answer, name) {
  result = name;
  shipped = answer.model.threshold;
  get("threshold").value = shipped;
  get("tick").style.setProperty("--at", (shipped - 0.02) / 0.96);
  view.show(answer.maps);
  update();
  const [word, advice] = WORDS[answer.verdict];
  const count = answer.regions.length;
  get("verdict-word").textContent = word;
  get("verdict-words").textContent = `${advice}${count ? `: ${describe(answer.regions)}` : ""}.`;
  get("verdict").style.setProperty("--verdict", answer.verdict === "nothing" ? "var(--line)" : `var(--${answer.verdict})`);
  const spent = answer.timings.wait + answer.timings.decode + answer.timings.predict;
  get("facts").textContent = `${name} · ${answer.width} × ${answer.height} pixels, ${duration(spent)}`;
  get("picture").alt = `${name}: ${word.toLowerCase()}`;
  get("no-regions").hidden = count > 0;
  regions.show(answer);
  get("status").textContent = `${word}. ${get("verdict-words").textContent}`;
}

// controls

function update() {
  const layer = document.querySelector("[name=layer]:checked").value;
  const [fade, threshold] = [Number(get("fade").value), Number(get("threshold").value)];
  get("fade-value").textContent = `${Math.round(100 * fade)} %`;
  get("threshold-value").textContent = threshold.toFixed(2);
  get("meaning").textContent = MEANINGS[layer];
  get("high").textContent = layer === "mask" ? "smoke" : String(Number(colours.maps[layer].top.toFixed(2)));
  get("low").textContent = layer === "mask" ? "none" : "0";
  view.set({ layer, fade, threshold, outlined: get("outlined").checked });
  drawRamp();
  if (!view.maps) return;
  get("covered").textContent = `${percent(view.covered())} of the picture is above it.`;
  get("reset").hidden = Math.abs(threshold - shipped) < 0.005;
  get("reset").textContent = `Back to the model's ${shipped.toFixed(2)}`;
  get("threshold").setAttribute("aria-valuetext", `${threshold.toFixed(2)}, ${get("covered").textContent}`);
}

function drawRamp() {
  const context = get("ramp").getContext("2d");
  view.legend().forEach((colour, level) => {
    context.fillStyle = colour ? `rgb(${colour.join(" ")})` : "#8886";
    context.clearRect(level, 0, 1, 1);
    context.fillRect(level, 0, 1, 1);
  });
}

for (const id of ["fade", "threshold", "outlined"]) get(id).addEventListener("input", update);
get("layers").addEventListener("change", update);
get("reset").addEventListener("click", () => {
  get("threshold").value = shipped;
  update();
  get("threshold").focus();
});
get("whole").addEventListener("click", () => regions.zoom(null));
get("frame").addEventListener("pointermove", (event) => {
  if (!view.maps) return;
  const frame = get("frame").getBoundingClientRect();
  const [scale, left, top] = view.transform();
  const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
  const values = view.at(left + x / scale, top + y / scale);
  get("probe").textContent = `Here: ${Object.entries(values).map(([name, value]) => `${name} ${figure(name, value)}`).join(" · ")}`;
});
get("frame").addEventListener("pointerleave", () => (get("probe").textContent = ""));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && view.box) regions.zoom(null);
});

// what went wrong

function complain(words) {
  const sentence = /[.?]$/.test(words) ? words : `${words}.`;
  get("problem").firstElementChild.textContent = result === null ? sentence : `${sentence} The result below is of ${result}.`;
  get("problem").hidden = false;
  get("problem").scrollIntoView({ block: "nearest" });
  stale(result !== null);
}

/** Dim a result that is not of the picture that was asked about last. */
function stale(on) {
  get("viewer").classList.toggle("stale", on);
}

function hideProblem() {
  get("problem").hidden = true;
}

get("problem").querySelector("button").addEventListener("click", () => {
  hideProblem();
  stale(false);
});
get("theme").addEventListener("click", () => {
  const root = document.documentElement.style;
  const dark = (root.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.colorScheme = dark ? "light" : "dark";
});

onToken(() => {
  hideProblem();
  (retry ?? greet)();
});
onFile(open, complain);
update();
greet();
