// Charts as SVG: lines with a band, and points. Everything that colour tells is told by a word or a dash too.
import { h, s, short } from "./dom.js";

const WIDTH = 520, HEIGHT = 230, LEFT = 58, RIGHT = 14, TOP = 14, BOTTOM = 40;

function ticks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2 || 1));
  const wide = [1, 2, 5].map((k) => k * step).find((k) => (high - low) / k <= 5) ?? 10 * step;
  const found = [];
  for (let value = Math.ceil(low / wide) * wide; value <= high + 1e-9 * wide; value += wide) found.push(value);
  return found;
}

function range(values) {
  const known = values.filter((v) => v !== null && Number.isFinite(v));
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (low === high) [low, high] = [low - 1, high + 1];
  return [low, high];
}

/** A chart of lines: {name, x, y, dash?, spread?}; `mark` is a value of x with a dashed line. */
export function chart({ title, xLabel, yLabel, lines, mark }) {
  const usable = lines.map((line) => ({ ...line, spread: line.spread ?? line.x.map(() => 0) }));
  const [x0, x1] = range(usable.flatMap((line) => line.x));
  const ys = usable.flatMap((line) => line.y.flatMap((y, i) => (y === null ? [] : [y - line.spread[i], y + line.spread[i]])));
  const [least, most] = range(ys);
  const [y0, y1] = [least - 0.05 * (most - least), most + 0.05 * (most - least)];
  const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
  const py = (y) => HEIGHT - BOTTOM - ((y - y0) / (y1 - y0)) * (HEIGHT - TOP - BOTTOM);
  const svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "chart" });
  svg.setAttribute("aria-label", `${title}: ${yLabel} against ${xLabel}`);
  for (const y of ticks(y0, y1)) {
    svg.append(s("path", { class: "grid", d: `M${LEFT} ${py(y)} H${WIDTH - RIGHT}` }));
    svg.append(s("text", { class: "tick", x: LEFT - 7, y: py(y) + 4, "text-anchor": "end" }, short(y, 4)));
  }
  for (const x of ticks(x0, x1)) {
    svg.append(s("text", { class: "tick", x: px(x), y: HEIGHT - BOTTOM + 17, "text-anchor": "middle" }, short(x, 4)));
  }
  svg.append(s("text", { class: "label", x: (LEFT + WIDTH) / 2, y: HEIGHT - 5, "text-anchor": "middle" }, xLabel));
  if (mark !== undefined && mark >= x0 && mark <= x1) {
    svg.append(s("path", { class: "mark", d: `M${px(mark)} ${TOP} V${HEIGHT - BOTTOM}` }));
  }
  usable.forEach((line, number) => {
    const points = line.x.map((x, i) => [x, line.y[i], line.spread[i]]).filter(([, y]) => y !== null);
    if (points.some(([, , spread]) => spread)) {
      const up = points.map(([x, y, d]) => `${px(x)} ${py(y + d)}`);
      const down = points.map(([x, y, d]) => `${px(x)} ${py(y - d)}`).reverse();
      svg.append(s("path", { class: `band line${number}`, d: `M${[...up, ...down].join("L")}Z` }));
    }
    const way = points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L");
    svg.append(s("path", { class: `line line${number}`, d: `M${way}` }));
    if (points.length < 20) for (const [x, y] of points) svg.append(s("circle", { class: "point", cx: px(x), cy: py(y), r: 3 }));
  });
  const keys = usable.filter((line) => line.name).map((line, i) => h("span", { class: `key line${i}` }, line.name));
  return h("figure", {}, h("figcaption", {}, title), svg, h("p", { class: "keys" }, ...keys));
}

/** Every episode's score as a dot on one line. */
export function dots(values, label) {
  const [low, high] = range(values);
  const wide = 2 * WIDTH;
  const px = (x) => 20 + ((x - low) / (high - low)) * (wide - 40);
  const svg = s("svg", { viewBox: `0 0 ${wide} 74`, role: "img", class: "chart" });
  svg.setAttribute("aria-label", `${label}: ${values.length} episodes from ${short(low)} to ${short(high)}`);
  svg.append(s("path", { class: "grid", d: `M20 46 H${wide - 20}` }));
  values.forEach((value, i) => svg.append(s("circle", { class: "dot", cx: px(value), cy: 30 + ((i * 7) % 11) - 5, r: 4 })));
  for (const x of ticks(low, high)) {
    svg.append(s("text", { class: "tick", x: px(x), y: 66, "text-anchor": "middle" }, short(x, 4)));
  }
  return h("figure", {}, svg);
}
