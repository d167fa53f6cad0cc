// What a law adds up on an observation, term by term: which feature pushes where, and how much.
import { h, short } from "./dom.js";

const MOST_TERMS = 40;

/** The value of every term of a sum, and of the whole. */
function weigh([constant, terms], x, features) {
  const rows = terms.map(([weight, places]) => ({
    name: `${short(weight, 4)}·${places.map((place) => features[place]).join("·")}`,
    value: places.reduce((product, place) => product * x[place], weight),
  }));
  if (constant || !terms.length) rows.push({ name: "constant", value: constant });
  return { rows, total: rows.reduce((sum, row) => sum + row.value, 0) };
}

/** A bar to the left or to the right of the middle; its side and a sign tell what colour does not. */
function bar(value, most, lit) {
  const size = `${(50 * Math.min(1, Math.abs(value) / most)).toFixed(1)}%`;
  const place = value < 0 ? `right:50%;width:${size}` : `left:50%;width:${size}`;
  return h("div", { class: "axis" }, h("div", { class: lit ? "force lit" : "force", style: place }));
}

function row(name, value, most, lit = false) {
  const label = h("th", { scope: "row" }, h("code", {}, name));
  const number = h("td", { class: "number" }, (value < 0 ? "−" : "+") + short(Math.abs(value), 3));
  return h("tr", { class: lit ? "lit" : "" }, label, number, h("td", { class: "bars" }, bar(value, most, lit)));
}

/** A law's sums as tables, one for each component; a table of scores where the largest wins. */
export function tellLaw(leaf, x, task) {
  const { sums, low, high, choices } = leaf.formula;
  const weighed = sums.map((sum) => weigh(sum, x, task.features));
  const names = task.action_names;
  if (choices) {
    const totals = weighed.map((one) => one.total);
    const most = Math.max(...totals.map(Math.abs), 1e-12);
    const best = totals.indexOf(Math.max(...totals));
    const rows = totals.map((total, i) => row(i === best ? `▸ ${names[i]}` : names[i], total, most, i === best));
    return [h("p", { class: "quiet" }, "The largest score wins:"), h("table", { class: "law" }, ...rows)];
  }
  const few = weighed.reduce((n, one) => n + one.rows.length, 0) <= MOST_TERMS;
  return weighed.map(({ rows, total }, i) => {
    const most = Math.max(...rows.map((one) => Math.abs(one.value)), Math.abs(total), 1e-12);
    const bounded = low && (total < low[i] || total > high[i]);
    const held = bounded ? `, held at ${short(total < low[i] ? low[i] : high[i])}` : "";
    const parts = few ? rows.map((one) => row(one.name, one.value, most)) : [];
    return h("table", { class: "law" }, h("caption", {}, names[i]), ...parts, row(`sum${held}`, total, most, true));
  });
}
