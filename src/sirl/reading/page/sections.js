// The sections that only tell: facts, rules, what matters, scores, how it was trained.
import { chart, dots } from "./charts.js";
import { h, byId, percent, short } from "./dom.js";

/** Lines of text, one below the other. */
function lines(texts) {
  return texts.flatMap((text, i) => (i ? [h("br"), text] : [text]));
}

/** Show a section that has something to show. */
function reveal(id, ...content) {
  byId(id).hidden = false;
  byId(`${id}-content`).append(...content);
}

export function tellFacts(data) {
  byId("title").textContent = data.title;
  byId("subtitle").textContent = data.subtitle;
  for (const [name, value, more] of data.facts) {
    byId("facts").append(h("div", { class: "fact" }, h("dt", {}, name), h("dd", {}, value, h("small", {}, more))));
  }
  if (!data.tree.splits.length) byId("how").textContent = "There is nothing to ask: in every state it does what stands here.";
  for (const note of data.notes) byId("notes").append(h("p", {}, note));
}

export function tellRules(tree) {
  if (!tree.splits.length) return;
  const items = tree.rules.map((rule) => {
    const leaf = tree.leaves[rule.leaf];
    const conditions = rule.when.map((text, i) => h("li", {}, h("span", { class: "joint" }, i ? "and " : "when "), h("code", {}, text)));
    return h("li", { "data-rule": rule.leaf }, h("strong", {}, ...lines(leaf.lines)), h("span", { class: "quiet" }, percent(leaf.share, " of steps")), h("ul", {}, ...conditions));
  });
  const where = tree.where.map((line) => h("p", {}, "where ", h("code", {}, line)));
  reveal("rules", h("ol", { class: "rules" }, ...items), ...where);
}

export function tellExplanation(data) {
  if (data.terms) reveal("terms", ...data.terms.map((split) => termTable(split)));
  if (!data.sweeps.length) return;
  const figures = data.sweeps.map((sweep) =>
    chart({
      title: `${sweep.title}, now ${short(sweep.own)}`,
      xLabel: "its value",
      yLabel: "score",
      lines: [{ name: "", x: sweep.values, y: sweep.means, spread: sweep.stds }],
      mark: sweep.own,
    }),
  );
  reveal("sweeps", h("div", { class: "figures" }, ...figures));
}

function termTable(split) {
  const most = Math.max(...split.terms.map((term) => Math.abs(term.loss ?? 0)), 1e-12);
  const rows = split.terms.map((term) => {
    const width = `${Math.round((100 * Math.max(0, term.loss)) / most)}%`;
    const bar = h("div", { class: "bar", style: `width:${width}` });
    const change = term.loss === null ? "the simulation breaks" : term.loss === 0 ? "no change" : `${term.loss > 0 ? "−" : "+"}${short(Math.abs(term.loss))} ± ${short(term.error, 2)}`;
    return h("tr", {}, h("th", { scope: "row" }, term.output ? `${term.feature} in ${term.output}` : term.feature), h("td", { class: "number" }, change), h("td", { class: "bars" }, bar));
  });
  const head = h("tr", {}, h("th", {}, "without"), h("th", {}, "score changes by"), h("th", {}, ""));
  return h("div", { class: "term" }, h("h3", {}, `${split.title}: `, h("code", {}, split.text)), h("table", {}, head, ...rows));
}

export function tellScores(score) {
  if (!score) return;
  reveal("scores", h("p", {}, score.text), dots(score.returns, "Scores"));
}

export function tellTraining(training) {
  if (!training) return;
  const { generation, best, mean, champion, leaves } = training.curves;
  reveal(
    "training",
    h("p", {}, training.text),
    h(
      "div",
      { class: "figures" },
      chart({
        title: "Learning curve",
        xLabel: "generation",
        yLabel: "score",
        lines: [
          { name: "champion, on fresh episodes", x: generation, y: champion },
          { name: "best of the generation", x: generation, y: best },
          { name: "mean of the generation", x: generation, y: mean },
        ],
      }),
      chart({ title: "Size of the champion", xLabel: "generation", yLabel: "leaves", lines: [{ name: "leaves", x: generation, y: leaves }] }),
    ),
  );
}
