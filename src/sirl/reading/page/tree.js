// The tree as SVG, root at the left: subtrees stand as close as they fit below each other, and nothing overlaps.
import { h, s, byId, percent } from "./dom.js";

const LINE = 17, LETTER = 7.25, WIDEST = 32, PAD = 10, GAP = 16, JOINT = 66, SMALLEST = 0.72;

/** The terms of a condition in lines that are not too long. */
function wrap(terms) {
  const lines = [terms[0]];
  for (const term of terms.slice(1)) {
    const last = lines.length - 1;
    if (lines[last].length + 1 + term.length > WIDEST) lines.push(term);
    else lines[last] += ` ${term}`;
  }
  return lines;
}

export class TreeView {
  constructor(tree, svg, tip) {
    Object.assign(this, { tree, svg, tip, collapsed: new Set(), path: [], groups: new Map() });
    this.draw();
    const root = this.groups.get(tree.root).querySelector("rect");
    this.svg.parentElement.scrollTop = root.y.baseVal.value + root.height.baseVal.value / 2 - this.svg.parentElement.clientHeight / 2;
    window.addEventListener("resize", () => this.draw());
  }

  node(id) {
    return id >= 0 ? this.tree.splits[id] : this.tree.leaves[~id];
  }

  isOpen(id) {
    return id >= 0 && !this.collapsed.has(id);
  }

  /** What stands in a node's box. */
  lines(id) {
    const node = this.node(id);
    if (id < 0) {
      if (node.share === null) return node.lines;
      return node.lines.length > 1 ? [...node.lines, percent(node.share, " of steps").trim()] : [`${node.lines[0]} ${percent(node.share)}`];
    }
    return this.isOpen(id) ? wrap(node.pieces) : [`▸ ${this.below(id)} leaves`];
  }

  below(id) {
    return id < 0 ? 1 : this.node(id).children.reduce((n, child) => n + this.below(child), 0);
  }

  /** The boxes of all nodes that are open, with their places. */
  layOut() {
    const boxes = new Map();
    const columns = [];
    // A subtree's outline is how far it reaches up and down at each depth, seen from its own middle.
    const measure = (id, depth) => {
      const lines = this.lines(id);
      const width = LETTER * Math.max(...lines.map((line) => line.length)) + 2 * PAD;
      const box = { id, depth, lines, width, height: LINE * lines.length + PAD };
      boxes.set(id, box);
      columns[depth] = Math.max(columns[depth] ?? 0, width);
      box.outline = [[-(box.height + GAP) / 2, (box.height + GAP) / 2]];
      if (!this.isOpen(id)) return box;
      const [yes, no] = this.node(id).children.map((child) => measure(child, depth + 1));
      const shared = Math.min(yes.outline.length, no.outline.length);
      const apart = Math.max(...Array.from({ length: shared }, (_, d) => yes.outline[d][1] - no.outline[d][0])) / 2;
      [yes.shift, no.shift] = [-apart, apart];
      for (let d = 0; d < Math.max(yes.outline.length, no.outline.length); d++) {
        const ends = [yes, no].flatMap((child) => (child.outline[d] ?? []).map((end) => end + child.shift));
        box.outline.push([Math.min(...ends), Math.max(...ends)]);
      }
      return box;
    };
    const root = measure(this.tree.root, 0);
    const top = Math.min(...root.outline.map(([start]) => start));
    const bottom = Math.max(...root.outline.map(([, end]) => end));
    const left = columns.map((_, depth) => 6 + columns.slice(0, depth).reduce((sum, w) => sum + w + JOINT, 0));
    const place = (id, middle) => {
      const box = boxes.get(id);
      [box.x, box.y] = [left[box.depth], middle];
      if (this.isOpen(id)) for (const child of this.node(id).children) place(child, middle + boxes.get(child).shift);
    };
    place(this.tree.root, 6 - top);
    const last = left.length - 1;
    return { boxes, width: left[last] + columns[last] + 8, height: bottom - top + 12 };
  }

  draw() {
    const { boxes, width, height } = this.layOut();
    this.svg.replaceChildren();
    this.groups.clear();
    this.edges = [];
    // A tree that nearly fits is made to fit; a larger one is scrolled.
    const room = this.svg.parentElement.clientWidth || width;
    const scale = width > room && width * SMALLEST <= room ? room / width : 1;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width * scale);
    this.svg.setAttribute("height", height * scale);
    for (const box of boxes.values()) if (this.isOpen(box.id)) this.drawEdges(box, boxes);
    for (const box of boxes.values()) this.drawBox(box);
    this.light(this.path);
  }

  drawEdges(box, boxes) {
    this.node(box.id).children.forEach((id, side) => {
      const child = boxes.get(id);
      const bend = child.x - 34;
      const line = `M${box.x + box.width} ${box.y} H${bend - 14} L${bend} ${child.y} H${child.x}`;
      const edge = s("path", { class: "edge", d: line });
      const word = s("text", { class: "word", x: bend + 3, y: child.y - 5 }, side === 0 ? "yes" : "no");
      this.svg.append(edge, word);
      this.edges.push({ from: box.id, to: id, edge, word });
    });
  }

  drawBox(box) {
    const isSplit = box.id >= 0;
    const group = s("g", { class: isSplit ? "node split" : "node leaf", tabindex: "0", "data-node": box.id });
    group.setAttribute("role", isSplit ? "button" : "img");
    if (isSplit) group.setAttribute("aria-expanded", String(this.isOpen(box.id)));
    group.setAttribute("aria-label", this.words(box.id).join(". "));
    const top = box.y - box.height / 2;
    group.append(s("rect", { x: box.x, y: top, width: box.width, height: box.height, rx: isSplit ? 4 : 13 }));
    box.lines.forEach((line, i) => group.append(s("text", { x: box.x + PAD, y: top + LINE * (i + 1) - 1 }, line)));
    if (isSplit) group.append(s("text", { class: "tag", x: box.x + box.width - 5, y: top - 4, "text-anchor": "end" }, String(box.id + 1)));
    group.addEventListener("mouseenter", () => this.showTip(box.id, group));
    group.addEventListener("mouseleave", () => this.hideTip());
    group.addEventListener("focus", () => this.showTip(box.id, group));
    group.addEventListener("blur", () => this.hideTip());
    if (isSplit) {
      group.addEventListener("click", () => this.toggle(box.id));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        this.toggle(box.id);
      });
    }
    this.svg.append(group);
    this.groups.set(box.id, group);
  }

  toggle(id) {
    if (!this.collapsed.delete(id)) this.collapsed.add(id);
    this.hideTip();
    this.draw();
    this.groups.get(id).focus({ preventScroll: true });
  }

  /** Light the path of an observation; what is lit is thicker too, not only coloured. */
  light(path) {
    this.path = path;
    const lit = new Set(path);
    for (const [id, group] of this.groups) group.classList.toggle("lit", lit.has(id));
    for (const { from, to, edge, word } of this.edges) {
      const on = lit.has(from) && lit.has(to);
      edge.classList.toggle("lit", on);
      word.classList.toggle("lit", on);
    }
  }

  /** A node in words. */
  words(id) {
    const node = this.node(id);
    const visits = node.visits === null ? [] : [`${node.visits.toLocaleString("en")} visits in ${this.tree.episodes} episodes`];
    if (id >= 0) return [`Question ${id + 1}: is ${node.condition}?`, `If not: ${node.otherwise}`, ...visits];
    const values = (node.values.q_values ?? []).map((q, i) => [q, this.tree.actions[i]]);
    values.sort((a, b) => b[0] - a[0]);
    const told = values.slice(0, 4).map(([q, name]) => `${name}: ${q.toPrecision(3)}`);
    return [node.action, ...visits, ...(told.length ? [`values ${told.join(", ")}`] : [])];
  }

  showTip(id, group) {
    this.tip.replaceChildren(...this.words(id).map((line) => h("p", {}, line)));
    this.tip.hidden = false;
    const box = group.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${Math.max(4, left) + window.scrollX}px`;
    this.tip.style.top = `${box.bottom + 6 + window.scrollY}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }
}

/** The tree's card. */
export function drawTree(tree) {
  return new TreeView(tree, byId("tree"), byId("tip"));
}
