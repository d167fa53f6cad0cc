// Everything together: one tree, lit by the replay or by the sliders, whichever moved last.
import { h, byId, short } from "./dom.js";
import { tellLaw } from "./law.js";
import { act, extend, holds, prepare, walk } from "./policy.js";
import { Player } from "./replay.js";
import { tellExplanation, tellFacts, tellRules, tellScores, tellTraining } from "./sections.js";
import { drawTree } from "./tree.js";
import { WhatIf } from "./whatif.js";

const data = JSON.parse(byId("data").textContent);
const tree = prepare(data.tree);
const view = drawTree(tree);

/** The action and its reasons, for an observation. */
function decide(seen) {
  const x = extend(tree, seen);
  const path = walk(tree, x);
  const leaf = ~path[path.length - 1];
  return { x, path, leaf, action: act(tree.leaves[leaf], x), label: tree.leaves[leaf].action };
}

/** The action of a law by its name: the choice that won, or a number for each component. */
function told({ task, leaves }, leaf, action) {
  const { choices } = leaves[leaf].formula;
  if (choices && task.action === "discrete") return task.action_names[choices.indexOf(action)];
  return action.map((value, i) => `${task.action_names[i]} ${short(value)}`).join(", ");
}

function show(seen) {
  const { x, path, leaf, action, label } = decide(seen);
  view.light(path);
  const computes = tree.leaves[leaf].formula.sums.some(([, terms]) => terms.length);
  byId("action").textContent = computes ? told(tree, leaf, action) : label;
  byId("law").replaceChildren(...(computes ? tellLaw(tree.leaves[leaf], x, tree.task) : []));
  const reasons = path.slice(0, -1).map((id) => {
    const split = tree.splits[id];
    return h("li", { value: id + 1 }, h("code", {}, holds(split, x) ? split.condition : split.otherwise));
  });
  byId("why").replaceChildren(...reasons);
  for (const item of document.querySelectorAll("[data-rule]")) {
    const on = Number(item.dataset.rule) === leaf;
    item.classList.toggle("lit", on);
    if (on) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  }
}

tellFacts(data);
tellRules(tree);
tellExplanation(data);
tellScores(data.score);
tellTraining(data.training);
const whatIf = new WhatIf(data.features, show);
if (data.replays.length) {
  new Player(data.replays, (x) => {
    whatIf.set(x);
    show(x);
  });
} else {
  byId("player").hidden = true;
  show(whatIf.x);
}
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === "dark" || (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
});
window.sirl = { decide };
