// The page's elements, by their ids and anew.

export const get = (id) => document.getElementById(id);

export const make = (tag, cls = "", text = "") => Object.assign(document.createElement(tag), { className: cls, textContent: text });

/** A path of SVG. */
export function draw(lines, cls = "") {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", lines);
  path.setAttribute("class", cls);
  return path;
}
