// Elements and numbers as text, in few words.

export const $ = (id) => document.getElementById(id);

/** An element: attributes, `on...` listeners, then children (texts are never read as HTML). */
export function el(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "circle", "text", "g", "title"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const count = (number) => number.toLocaleString("en");

export function percent(p) {
  const digits = p >= 0.0995 && p < 0.9995 ? 0 : p >= 0.00995 ? 1 : p >= 0.00005 ? 2 : 0;
  return p > 0 && p < 0.00005 ? "< 0.01 %" : `${(100 * p).toFixed(digits)} %`;
}

/** Three digits or so, with a sign if it is wanted, and a true minus; beside a large number a small one is short. */
export function figure(value, sign = false, largest = 0) {
  const size = Math.abs(value);
  if (largest >= 0.095 && size < 0.095) return `${size < 0.005 ? "" : value < 0 ? "−" : sign ? "+" : ""}${size.toFixed(2)}`;
  const text = size >= 1000 ? count(Math.round(size)) : size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1)
    : size >= 0.095 || size === 0 ? size.toFixed(2) : size.toPrecision(2);
  return (value < 0 ? "−" : sign ? "+" : "") + text;
}

/** The smallest of 1, 0.5, 0.2, 0.1 ... that is not below p: how much a full bar stands for. */
export function roundScale(p) {
  let scale = 1;
  for (const step of [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]) if (p <= step) scale = step;
  return scale;
}
