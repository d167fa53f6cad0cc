// Small helpers to make elements; text is always text, whatever a name contains.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** An HTML element. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A number as short as it reads well. */
export function short(value, digits = 3) {
  if (value === null || value === undefined) return "none";
  const text = Number(value.toPrecision(digits));
  return Math.abs(text) >= 1e5 || (text !== 0 && Math.abs(text) < 1e-4) ? text.toExponential(1) : String(text);
}

/** A share of steps, such as "42.7 %"; nothing if nobody has played. */
export function percent(share, of = "") {
  if (share === null) return "";
  return share === 0 ? " never" : share < 0.001 ? ` under 0.1 %${of}` : ` ${(100 * share).toFixed(1)} %${of}`;
}

/** A section's element by id. */
export function byId(id) {
  return document.getElementById(id);
}
