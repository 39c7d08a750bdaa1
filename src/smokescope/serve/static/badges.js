// Where the regions' numbers stand: beside what they point at, since most smoke is smaller than its number.

const GAP = 9; // to the region, in CSS pixels: a number that is pointed at grows into half of it
const RING = 2; // the white rim
const GROWN = 1.3; // as style.css has it

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const around = ({ x, y }, half) => [x - half, y - half, x + half, y + half];
const common = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));

/** Centres to choose from, the best first: above, below, and beside, each in the middle and at both ends. */
function* centres([x0, y0, x1, y1], apart) {
  const ends = (low, high) => [(low + high) / 2, low, high, low - apart, high + apart];
  for (const y of [y0 - apart, y1 + apart]) for (const x of ends(x0, x1)) yield { x, y };
  for (const x of [x1 + apart, x0 - apart]) for (const y of ends(y0, y1)) yield { x, y };
}

/**
 * Put every number outside its region's box, inside the frame, and clear of other boxes and numbers if that can be.
 * A region that fills the frame has its number at the frame's edge, and one that is not in it, none.
 */
export function placeBadges(marks, frame, [scale, left, top]) {
  const [width, height] = [frame.clientWidth, frame.clientHeight];
  const boxes = marks.map(({ box: [x0, y0, x1, y1] }) => [(x0 - left) * scale * width, (y0 - top) * scale * height, (x1 - left) * scale * width, (y1 - top) * scale * height]);
  marks.forEach((mark, index) => (mark.hidden = common(boxes[index], [0, 0, width, height]) === 0));
  const half = Math.max(0, ...marks.map((mark) => mark.offsetWidth)) / 2 + RING;
  const edge = half * GROWN;
  const taken = [];
  marks.forEach((mark, index) => {
    if (mark.hidden) return;
    const box = boxes[index];
    let [best, least] = [null, Infinity];
    for (const { x, y } of centres(box, half + GAP)) {
      const at = { x: clamp(x, edge, width - edge), y: clamp(y, edge, height - edge) };
      const place = around(at, half);
      // to hide its own region is worst
      const cost = 1000 * common(place, box) + [...boxes, ...taken].reduce((sum, other) => sum + common(place, other), 0);
      if (cost < least) [best, least] = [at, cost];
      if (cost === 0) break;
    }
    taken.push(around(best, half));
    const [dx, dy] = [clamp(best.x, box[0], box[2]) - best.x, clamp(best.y, box[1], box[3]) - best.y];
    Object.assign(mark.style, { left: `${best.x}px`, top: `${best.y}px` });
    mark.style.setProperty("--turn", `${Math.atan2(dy, dx)}rad`);
    mark.style.setProperty("--reach", `${Math.hypot(dx, dy)}px`);
  });
}
