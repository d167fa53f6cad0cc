// The policy itself: the same sums in the same order as Python's, so the same decisions, bit for bit.

/** Whether a split's condition holds on an observation. */
export function holds(split, x) {
  let total = 0.0;
  for (const [feature, weight] of split.terms) total += weight * x[feature];
  return total < split.threshold;
}

/** The nodes that an observation passes, root first; a leaf is ~leaf, a negative number. */
export function walk(tree, x) {
  const path = [tree.root];
  for (let node = tree.root; node >= 0; path.push(node)) {
    const split = tree.splits[node];
    node = split.children[holds(split, x) ? 0 : 1];
  }
  return path;
}

/** What a leaf does on an observation: a list of numbers. */
export function act(leaf, x) {
  const { sums, low, high, choices } = leaf.formula;
  const values = sums.map(([constant, terms]) => {
    let total = constant;
    for (const [weight, features] of terms) {
      let product = weight;
      for (const feature of features) product *= x[feature];
      total += product;
    }
    return total;
  });
  if (choices) return choices[values.indexOf(Math.max(...values))];
  return low && high ? values.map((v, i) => Math.min(Math.max(v, low[i]), high[i])) : values;
}

/** What is observed, followed by what is derived from it: each by a program for a machine with a stack. */
export function extend(tree, seen) {
  const x = [...seen];
  for (const { program } of tree.derived) x.push(run(program, x));
  return x;
}

const JOIN = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b };

function run(program, x) {
  const stack = [];
  for (const [word, value] of program) {
    if (word === "feature") stack.push(x[value]);
    else if (word === "number") stack.push(value);
    else if (word === "negate") stack.push(-stack.pop());
    else if (word === "power") {
      const base = stack.pop();
      let product = base;
      for (let n = 1; n < value; n++) product *= base;
      stack.push(product);
    } else {
      const right = stack.pop();
      stack.push(JOIN[word](stack.pop(), right));
    }
  }
  return stack[0];
}

/** Weights by name become pairs of a feature's place and its weight, in order. */
export function prepare(tree) {
  const place = new Map(tree.task.features.map((name, i) => [name, i]));
  for (const split of tree.splits) {
    split.terms = Object.entries(split.weights).map(([name, w]) => [place.get(name), w]);
    split.terms.sort((a, b) => a[0] - b[0]);
  }
  return tree;
}
