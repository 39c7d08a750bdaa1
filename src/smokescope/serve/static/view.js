// The picture and what is laid over it. All is drawn from the answer's maps: nothing is asked of the service.

const SKY = 128; // a middling grey, which the legend is drawn over
const hex = (colour) => [0, 2, 4].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** Grey values of a PNG in base64. */
async function greys(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const exact = { colorSpaceConversion: "none", premultiplyAlpha: "none" };
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }), exact);
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const pixels = context.getImageData(0, 0, width, height).data;
  const values = new Uint8Array(width * height);
  for (let i = 0; i < values.length; i++) values[i] = pixels[4 * i];
  return { width, height, values };
}

export async function readMaps(answer) {
  const entries = Object.entries(answer.maps).map(async ([name, png]) => [name, await greys(png)]);
  return Object.fromEntries(await Promise.all(entries));
}

export class View {
  constructor(colours) {
    this.colours = colours;
    this.ramps = Object.fromEntries(Object.entries(colours.maps).map(([name, each]) => [name, each.ramp.map(hex)]));
    this.smoke = hex(colours.verdicts.smoke.line);
    this.state = { layer: "mask", fade: 0.5, threshold: 0.5, outlined: true };
    this.box = null; // what is zoomed to, in shares of the picture: x0, y0, x1, y1
    for (const id of ["frame", "zoom", "picture", "layer", "outline"]) this[id] = document.getElementById(id);
    new ResizeObserver(() => this.redraw()).observe(this.frame);
  }

  show(maps) {
    this.maps = maps;
    if (!maps) {
      this.picture.style.filter = "";
      for (const canvas of [this.layer, this.outline]) canvas.width = canvas.height = 1;
      return;
    }
    const counts = new Uint32Array(256);
    for (const value of maps.probability.values) counts[value]++;
    this.above = new Float64Array(257); // share of the picture with at least this level
    for (let level = 255; level >= 0; level--) {
      this.above[level] = this.above[level + 1] + counts[level] / maps.probability.values.length;
    }
    this.redraw();
  }

  set(changes) {
    Object.assign(this.state, changes);
    this.redraw();
  }

  /** Share of the picture above the threshold. */
  covered() {
    return this.above[Math.floor(this.state.threshold * 255 + 1e-9) + 1];
  }

  /** Values under a point, given in shares of the picture. */
  at(x, y) {
    const read = ({ width, height, values }) => values[Math.min(height - 1, Math.floor(y * height)) * width + Math.min(width - 1, Math.floor(x * width))];
    return Object.fromEntries(Object.entries(this.maps).map(([name, map]) => [name, (read(map) / 255) * this.colours.maps[name].top]));
  }

  zoomTo(box) {
    this.box = box;
    const [scale, left, top] = this.transform();
    this.zoom.style.transform = `scale(${scale}) translate(${-100 * left}%, ${-100 * top}%)`;
    this.redraw();
  }

  /** Scale, and which point of the picture is the frame's corner. */
  transform() {
    if (!this.box) return [1, 0, 0];
    const [x0, y0, x1, y1] = this.box;
    const scale = Math.max(1, Math.min(10, 0.6 / Math.max(x1 - x0, y1 - y0)));
    const corner = (low, high) => Math.max(0, Math.min(1 - 1 / scale, (low + high) / 2 - 0.5 / scale));
    return [scale, corner(x0, x1), corner(y0, y1)];
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      if (!this.maps) return;
      this.drawLayer();
      this.drawOutline();
    });
  }

  /** How far the map is laid on, and how far the picture is gone: first it glows, then it covers. */
  strength() {
    const { fade } = this.state;
    return [Math.min(1, 2 * fade), Math.max(0, 2 * fade - 1)];
  }

  /** Share of its light that the picture keeps under a map, which only ever adds to that. */
  kept() {
    const [glow, cover] = this.strength();
    return (1 - glow * (1 - this.colours.dimmed)) * (1 - cover);
  }

  /** The light that a map adds at each grey level: none at 0, unless the picture is gone. */
  lights() {
    const [, cover] = this.strength();
    const ramp = this.ramps[this.state.layer];
    return ramp.map((colour) => colour.map((part, k) => Math.max(0, part - (1 - cover) * ramp[0][k])));
  }

  /** The mask's or the map's colours at each grey level, as they are seen over a grey of the picture. */
  legend() {
    if (this.state.layer === "mask") return this.ramps.probability.map((_, level) => (level / 255 > this.state.threshold ? this.smoke : null));
    const [[glow], grey] = [this.strength(), SKY * this.kept()];
    return this.lights().map((light) => light.map((part) => Math.round(grey + glow * part * (1 - grey / 255))));
  }

  /** Colour and opacity of each grey level. */
  table() {
    const { layer, threshold } = this.state;
    const table = new Uint8ClampedArray(4 * 256);
    const [glow, cover] = this.strength();
    const lights = layer === "mask" ? null : this.lights();
    for (let level = 0; level < 256; level++) {
      const inside = level / 255 > threshold;
      const [colour, weight] = lights ? [lights[level], 1] : inside ? [this.smoke, 0.5] : [[18, 17, 19], 0];
      table.set([...colour, 255 * (glow * weight + cover * (1 - weight))], 4 * level);
    }
    return new Uint32Array(table.buffer);
  }

  drawLayer() {
    const { layer } = this.state;
    const lit = layer !== "mask"; // a map is light on a dark, grey picture; the mask is paint
    this.picture.style.filter = lit ? `grayscale(${this.strength()[0]}) brightness(${this.kept()})` : "";
    this.layer.style.mixBlendMode = lit ? "screen" : "";
    const { width, height, values } = this.maps[layer === "mask" ? "probability" : layer];
    if (this.layer.width !== width || this.layer.height !== height) Object.assign(this.layer, { width, height });
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = this.table();
    for (let i = 0; i < values.length; i++) pixels[i] = table[values[i]];
    this.layer.getContext("2d").putImageData(image, 0, 0);
  }

  /** The line where the probability crosses the threshold, interpolated: marching squares. */
  drawOutline() {
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [this.frame.clientWidth * ratio, this.frame.clientHeight * ratio].map(Math.round);
    Object.assign(this.outline, { width: wide, height: high });
    if (!this.state.outlined) return;
    const { width, height, values } = this.maps.probability;
    const level = this.state.threshold * 255;
    const [scale, left, top] = this.transform();
    const x = (at) => ((at + 0.5) / width - left) * scale * wide;
    const y = (at) => ((at + 0.5) / height - top) * scale * high;
    const path = new Path2D();
    for (let row = 0; row < height - 1; row++) {
      for (let column = 0, i = row * width; column < width - 1; column++, i++) {
        const [a, b] = [values[i], values[i + 1]];
        const [c, d] = [values[i + width], values[i + width + 1]];
        const kind = (a > level) + 2 * (b > level) + 4 * (c > level) + 8 * (d > level);
        if (kind === 0 || kind === 15) continue;
        const cut = (from, to) => (level - from) / (to - from);
        const points = []; // on the upper, lower, left and right side of the square
        if (a > level !== b > level) points.push([column + cut(a, b), row]);
        if (c > level !== d > level) points.push([column + cut(c, d), row + 1]);
        if (a > level !== c > level) points.push([column, row + cut(a, c)]);
        if (b > level !== d > level) points.push([column + 1, row + cut(b, d)]);
        for (let k = 0; k + 1 < points.length; k += 2) {
          path.moveTo(x(points[k][0]), y(points[k][1]));
          path.lineTo(x(points[k + 1][0]), y(points[k + 1][1]));
        }
      }
    }
    const context = this.outline.getContext("2d");
    context.lineCap = "round";
    for (const [style, thick] of [["#000a", 4], ["#fff", 2]]) { // a dark rim, for bright smoke
      context.strokeStyle = style;
      context.lineWidth = thick * ratio;
      context.stroke(path);
    }
  }
}
