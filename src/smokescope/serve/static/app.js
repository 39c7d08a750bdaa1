import { placeBadges } from "/badges.js";
import { View, readMaps } from "/view.js";

const SIDE = 1600; // of the maps asked for: finer than most screens show, and quick to send
const get = (id) => document.getElementById(id);
const percent = (share) => (share === 0 ? "0 %" : share < 0.0001 ? "< 0.01 %" : `${(100 * share).toFixed(share < 0.01 ? 2 : 1)} %`);
const figure = (name, value) => {
  const digits = name === "epistemic" ? 3 : 2; // which is the smallest of them
  const least = 10 ** -digits;
  return value < least / 2 ? `< ${least}` : value.toFixed(digits);
};
const make = (tag, cls = "", text = "") => Object.assign(document.createElement(tag), { className: cls, textContent: text });

const MEANINGS = {
  mask: "Where the probability of smoke is above the threshold.",
  probability: "How likely each place is smoke.",
  total: "All doubt, in nats.",
  aleatoric: "Doubt that lies in the picture, in nats.",
  epistemic: "Doubt that lies in the model, in nats; more is shown alike.",
};
const WORDS = {
  smoke: ["Smoke", "Look at once"],
  unsure: ["Unsure", "A person should look"],
  nothing: ["Nothing found", "That does not mean that there is nothing"],
};

const colours = await (await fetch("/colours.json")).json();
const view = new View(colours);
let token = sessionStorage.getItem("token");
let retry = null; // what to do again once there is a token
let asked = 0; // counts questions: an answer to an older one is not shown
let shown = 0; // the question whose picture is on the page
let result = null; // the name of the picture whose answer is on the page
let shipped = 0.5;
let verdicts = null; // the model's thresholds of a verdict

for (const [name, { ramp }] of Object.entries(colours.maps)) {
  for (const dot of document.querySelectorAll(`[data-map=${name}]`)) dot.style.setProperty("--dot", `#${ramp[165]}`);
}
for (const [name, colour] of Object.entries(colours.verdicts)) document.documentElement.style.setProperty(`--${name}`, `#${colour}`);

// asking the service

async function ask(path, options = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Error("The service cannot be reached, or closed the connection: is it running?");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  if (answer.status === 401) wantToken();
  const sentence = told.error ?? `The service answered ${answer.status}.`;
  throw Object.assign(new Error(sentence[0].toUpperCase() + sentence.slice(1)), { status: answer.status });
}

function wantToken() {
  get("token").hidden = false;
  get("token-input").focus();
}

get("token").addEventListener("submit", (event) => {
  event.preventDefault();
  token = get("token-input").value.trim();
  sessionStorage.setItem("token", token);
  get("token").hidden = true;
  hideProblem();
  (retry ?? greet)();
});

async function greet() {
  retry = greet;
  try {
    const model = await ask("/v1/model");
    const size = model.parameters === null ? "" : `, ${(model.parameters / 1e6).toFixed(1)} M parameters`;
    get("model").textContent = `${model.name} · ${model.architecture}${size}, ${model.engine} on ${model.device} · smokescope ${model.smokescope}`;
    verdicts = model.verdicts;
    retry = null;
  } catch (error) {
    if (error.status !== 401 || token) complain(error.message); // the token's field says enough at first
  }
}

// one picture, from its file to what is said of it

/** A file's name as it may be shown: letters that would turn others around are made visible. */
const nameOf = (file) => file.name.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "\ufffd") || "the picture";

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
  zoom(null);
  for (const id of ["regions", "shapes", "badges"]) get(id).replaceChildren();
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
  get("facts").textContent = `${name} · ${answer.width} × ${answer.height} pixels, ${spent < 1000 ? `${spent.toFixed(0)} ms` : `${(spent / 1000).toFixed(1)} s`}`;
  get("picture").alt = `${name}: ${word.toLowerCase()}`;
  get("no-regions").hidden = count > 0;
  listRegions(answer);
  get("status").textContent = `${word}. ${get("verdict-words").textContent}`;
}

function describe(regions) {
  const smoke = regions.filter((each) => each.verdict === "smoke").length;
  const parts = [];
  if (smoke) parts.push(smoke === 1 ? "one region is smoke" : `${smoke} regions are smoke`);
  const unsure = regions.length - smoke;
  if (unsure) parts.push(smoke ? `${unsure === 1 ? "one is" : `${unsure} are`} uncertain` : unsure === 1 ? "one region is uncertain" : `${unsure} regions are uncertain`);
  return parts.join(", ");
}

// regions: the list and the picture point at each other

function listRegions({ width, height, regions }) {
  get("shapes").setAttribute("viewBox", `0 0 ${width} ${height}`);
  get("shapes").setAttribute("preserveAspectRatio", "none");
  const spot = draw("M0 0Z"); // dims all but the region that is pointed at
  spot.id = "spot";
  regions.forEach((region, index) => {
    const box = region.box.map((at, k) => at / (k % 2 ? height : width));
    const parts = [listItem(region, index), shape(region), badge(region, index, box)];
    get("regions").append(make("li"));
    get("regions").lastChild.append(parts[0]);
    get("shapes").append(parts[1]);
    get("badges").append(parts[2]);
    const light = (on) => {
      if (on) spot.setAttribute("d", `M0 0H${width}V${height}H0Z${parts[1].getAttribute("d")}`);
      for (const part of [...parts, spot]) part.classList.toggle("lit", on);
    };
    for (const part of parts.slice(0, 2)) {
      part.addEventListener("pointerenter", () => light(true));
      part.addEventListener("pointerleave", () => light(false));
      part.addEventListener("click", () => zoom(view.box === null || view.box.join() !== box.join() ? box : null));
    }
    parts[0].addEventListener("focus", () => light(true));
    parts[0].addEventListener("blur", () => light(false));
  });
  get("shapes").append(spot);
  moveBadges();
}

function listItem(region, index) {
  const button = Object.assign(make("button", "region"), { type: "button" });
  const number = make("span", `badge ${region.verdict}`, index + 1);
  number.style.setProperty("--verdict", `var(--${region.verdict})`);
  const numbers = Object.assign(make("span", "numbers"), { title: "Means over the region" });
  for (const name of ["probability", "total", "aleatoric", "epistemic"]) {
    const item = make("span", "", name);
    const meter = make("span", "meter");
    meter.append(make("i"));
    meter.firstChild.style.width = percent(Math.min(1, region[name] / colours.maps[name].top)).replace(" ", "");
    meter.style.setProperty("--dot", `#${colours.maps[name].ramp[165]}`);
    item.append(make("b", "", figure(name, region[name])), meter);
    numbers.append(item);
  }
  const share = make("span", "share small", percent(region.share));
  share.title = `${region.area.toLocaleString("en")} pixels`;
  button.append(number, make("b", "", WORDS[region.verdict][0]), share);
  if (verdicts) button.append(make("span", "why small", why(region)));
  button.append(numbers);
  const of = (name) => figure(name, region[name]);
  button.setAttribute("aria-label", `Region ${index + 1}: ${region.verdict}, ${percent(region.share)} of the picture, probability ${of("probability")}, doubt in nats: total ${of("total")}, aleatoric ${of("aleatoric")}, epistemic ${of("epistemic")}. Press to look closer.`);
  return button;
}

/** What its verdict rests on. */
function why({ verdict, peak, doubt }) {
  const percents = (share) => `${Number((100 * share).toFixed(1))} %`;
  const reached = `peak ${peak >= 0.995 ? "> 99 %" : percents(peak)}`; // never 100 %: nothing is sure
  const doubted = `doubt ${figure("epistemic", doubt)} there`;
  if (verdict === "smoke") return `${reached}, ${doubted}`;
  if (peak > verdicts.smoke_above) return `${reached}, but ${doubted}: smoke up to ${verdicts.epistemic_above}`;
  return `${reached}: called smoke above ${percents(verdicts.smoke_above)}`;
}

function draw(lines) {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", lines);
  return path;
}

function shape(region) {
  const path = draw(`M${region.polygon.map((point) => point.join(" ")).join("L")}Z`);
  path.setAttribute("class", region.verdict);
  path.style.setProperty("--verdict", `var(--${region.verdict})`);
  return path;
}

function badge(region, index, box) {
  const mark = make("span", `badge ${region.verdict}`, index + 1);
  mark.style.setProperty("--verdict", `var(--${region.verdict})`);
  mark.box = box;
  return mark;
}

function zoom(box) {
  view.zoomTo(box);
  get("whole").hidden = box === null;
  moveBadges();
}

const moveBadges = () => placeBadges([...get("badges").children], get("frame"), view.transform());
new ResizeObserver(moveBadges).observe(get("frame"));

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
get("whole").addEventListener("click", () => zoom(null));
get("frame").addEventListener("pointermove", (event) => {
  if (!view.maps) return;
  const frame = get("frame").getBoundingClientRect();
  const [scale, left, top] = view.transform();
  const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
  const values = view.at(left + x / scale, top + y / scale);
  get("probe").textContent = `Here: ${Object.entries(values).map(([name, value]) => `${name} ${figure(name, value)}`).join(" · ")}`;
});
get("frame").addEventListener("pointerleave", () => (get("probe").textContent = ""));

// ways in: pick, paste, drop

const choose = (files) => files.length && open(files[0]);
get("file").addEventListener("change", (event) => {
  choose(event.target.files);
  event.target.value = ""; // so that the same file may be chosen again
});
get("another").addEventListener("click", () => get("file").click());
document.addEventListener("paste", (event) => choose(event.clipboardData.files));
let over = 0; // how many elements deep a dragged file is
document.addEventListener("dragenter", (event) => {
  event.preventDefault();
  over++;
  get("landing").hidden = false;
});
document.addEventListener("dragleave", () => {
  over = Math.max(0, over - 1);
  get("landing").hidden = over === 0;
});
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  over = 0;
  get("landing").hidden = true;
  if (event.dataTransfer.files.length) choose(event.dataTransfer.files);
  else complain("That was no file: drop a picture from a folder.");
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && view.box) zoom(null);
});

// the rest

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
update();
greet();
