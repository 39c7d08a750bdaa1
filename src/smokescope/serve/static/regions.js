// The regions that were found: the list and the picture point at each other.

import { placeBadges } from "/badges.js";
import { draw, get, make } from "/dom.js";
import { WORDS, figure, percent, why } from "/words.js";

export class Regions {
  constructor(view, colours) {
    this.view = view;
    this.colours = colours;
    this.thresholds = null; // of the model's verdicts, once they are known
    new ResizeObserver(() => this.placeBadges()).observe(get("frame"));
  }

  clear() {
    this.zoom(null);
    for (const id of ["regions", "shapes", "badges"]) get(id).replaceChildren();
  }

  show({ width, height, regions }) {
    get("shapes").setAttribute("viewBox", `0 0 ${width} ${height}`);
    get("shapes").setAttribute("preserveAspectRatio", "none");
    const spot = draw("M0 0Z"); // dims all but the region that is pointed at
    spot.id = "spot";
    regions.forEach((region, index) => {
      const box = region.box.map((at, k) => at / (k % 2 ? height : width));
      const item = this.item(region, index);
      const shape = draw(`M${region.polygon.map((point) => point.join(" ")).join("L")}Z`, region.verdict);
      const badge = Object.assign(numbered(region, index), { box });
      const row = make("li");
      row.append(item);
      get("regions").append(row);
      get("shapes").append(shape);
      get("badges").append(badge);
      const light = (on) => {
        if (on) spot.setAttribute("d", `M0 0H${width}V${height}H0Z${shape.getAttribute("d")}`);
        for (const part of [item, shape, badge, spot]) part.classList.toggle("lit", on);
      };
      for (const part of [item, shape]) {
        part.addEventListener("pointerenter", () => light(true));
        part.addEventListener("pointerleave", () => light(false));
        part.addEventListener("click", () => this.zoom(this.view.box?.join() === box.join() ? null : box));
      }
      item.addEventListener("focus", () => light(true));
      item.addEventListener("blur", () => light(false));
    });
    get("shapes").append(spot);
    this.placeBadges();
  }

  /** Look closer at a box, or with null at the whole picture. */
  zoom(box) {
    this.view.zoomTo(box);
    get("whole").hidden = box === null;
    this.placeBadges();
  }

  placeBadges() {
    placeBadges([...get("badges").children], get("frame"), this.view.transform());
  }

  item(region, index) {
    const button = Object.assign(make("button", "region"), { type: "button" });
    const numbers = Object.assign(make("span", "numbers"), { title: "Means over the region" });
    for (const name of ["probability", "total", "aleatoric", "epistemic"]) {
      const { ramp, top } = this.colours.maps[name];
      const meter = make("span", "meter");
      meter.append(make("i"));
      meter.firstChild.style.width = `${100 * Math.min(1, region[name] / top)}%`;
      meter.style.setProperty("--dot", `#${ramp[165]}`);
      const item = make("span", "", name);
      item.append(make("b", "", figure(name, region[name])), meter);
      numbers.append(item);
    }
    const share = make("span", "share small", percent(region.share));
    share.title = `${region.area.toLocaleString("en")} pixels`;
    button.append(numbered(region, index), make("b", "", WORDS[region.verdict][0]), share);
    if (this.thresholds) button.append(make("span", "why small", why(region, this.thresholds)));
    button.append(numbers);
    const of = (name) => figure(name, region[name]);
    button.setAttribute("aria-label", `Region ${index + 1}: ${region.verdict}, ${percent(region.share)} of the picture, probability ${of("probability")}, doubt in nats: total ${of("total")}, aleatoric ${of("aleatoric")}, epistemic ${of("epistemic")}. Press to look closer.`);
    return button;
  }
}

const numbered = (region, index) => make("span", `badge ${region.verdict}`, index + 1);
