"""A policy as an ONNX graph, for any runtime that reads those; an extra: ``pip install 'sirl[onnx]'``.

The graph has only plain operators, and adds weighted features one after another as ``predict`` does. Nodes are walked
level by level: all conditions are weighed, and a gather moves each observation from its node to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sirl.errors import SirlError
from sirl.model.derived import run
from sirl.model.formula import Formula
from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.model.tree import Tree

_OPSET = 17
_TYPES = {"float64": "DOUBLE", "float32": "FLOAT", "int64": "INT64", "bool": "BOOL"}


def write_onnx(policy: Policy) -> bytes:
    """A model with one input, ``observation`` (n, n_features) in double, and one output, ``action``."""
    try:
        import onnx
    except ImportError:
        raise SirlError("ONNX is an extra: run `pip install 'sirl[onnx]'`.") from None
    graph = _Graph(onnx)
    _derive(graph, policy.task)
    leaf = _walk(graph, policy.tree)
    formulas = [policy.tree.leaves.formula(number) for number in range(policy.tree.n_leaves)]
    action = _act(graph, formulas, leaf)
    task = policy.task
    dtype = "float32" if task.action_dtype == "float32" else "float64" if task.action == "box" else "int64"
    if task.action == "discrete":
        action = graph.add("Squeeze", action, graph.constant(np.array([1])))
    graph.add("Cast", action, output="action", to=getattr(onnx.TensorProto, _TYPES[dtype]))
    shape: list[str | int | None] = ["n"] if task.action == "discrete" else ["n", len(task.action_names)]
    helper = onnx.helper
    built = helper.make_graph(
        graph.nodes,
        "policy",
        [helper.make_tensor_value_info("observation", onnx.TensorProto.DOUBLE, ["n", task.n_observed])],
        [helper.make_tensor_value_info("action", getattr(onnx.TensorProto, _TYPES[dtype]), shape)],
        graph.constants,
    )
    model = helper.make_model(
        built, producer_name="sirl", opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8
    )
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


class _Graph:
    """Operators under construction; values go by name."""

    def __init__(self, onnx: Any):
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.seen = "observation"
        """All features, (n, n_features)."""

    def constant(self, values: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def column(self, feature: int) -> str:
        """A feature of all observations, (n, 1)."""
        return self.add("Gather", self.seen, self.constant(np.array([feature])), axis=1)


@dataclass(frozen=True)
class _Column:
    """An operand of a formula, (n, 1)."""

    graph: _Graph
    name: str

    def _with(self, operator: str, *others: _Column) -> _Column:
        return _Column(self.graph, self.graph.add(operator, self.name, *(other.name for other in others)))

    def __add__(self, other: _Column) -> _Column:
        return self._with("Add", other)

    def __sub__(self, other: _Column) -> _Column:
        return self._with("Sub", other)

    def __mul__(self, other: _Column) -> _Column:
        return self._with("Mul", other)

    def __truediv__(self, other: _Column) -> _Column:
        return self._with("Div", other)

    def __neg__(self) -> _Column:
        return self._with("Neg")


def _derive(graph: _Graph, task: Task) -> None:
    """Put the derived features behind what is observed, one after another."""

    def feature(place: int) -> _Column:
        return _Column(graph, graph.column(place))

    def number(value: float) -> _Column:  # a column too, since a formula may be nothing but a number
        zeros = graph.add("Mul", graph.column(0), graph.constant(np.zeros((1, 1))))
        return _Column(graph, graph.add("Add", zeros, graph.constant(np.array([[value]]))))

    for definition in task.definitions:
        column = run(definition.program, feature, number)
        graph.seen = graph.add("Concat", graph.seen, column.name, axis=1)


def _walk(graph: _Graph, tree: Tree) -> str:
    """The leaf of each observation, (n, 1)."""
    zeros = graph.add("Mul", graph.column(0), graph.constant(np.zeros((1, max(1, tree.n_splits)))))
    start = graph.add("Cast", graph.add("Mul", graph.column(0), graph.constant(np.zeros((1, 1)))), to=7)
    if not tree.n_splits:
        return start
    total = zeros
    for feature in range(tree.weights.shape[1]):
        if tree.weights[:, feature].any():
            weights = graph.constant(tree.weights[None, :, feature])
            total = graph.add("Add", total, graph.add("Mul", graph.column(feature), weights))
    holds = graph.add("Less", total, graph.constant(tree.thresholds[None]))
    # Nodes are numbered splits first, then leaves; a leaf leads to itself.
    numbers = np.where(tree.children >= 0, tree.children, tree.n_splits + ~tree.children).astype(np.int64)
    onward = graph.add("Where", holds, graph.constant(numbers[None, :, 0]), graph.constant(numbers[None, :, 1]))
    stay = graph.constant(np.arange(tree.n_splits, tree.n_splits + tree.n_leaves)[None])
    leaves = graph.add("Add", graph.add("Mul", start, graph.constant(np.zeros((1, tree.n_leaves), np.int64))), stay)
    onward = graph.add("Concat", onward, leaves, axis=1)
    at = start
    for _ in range(tree.depth):
        at = graph.add("GatherElements", onward, at, axis=1)
    return graph.add("Sub", at, graph.constant(np.array([[tree.n_splits]])))


def _act(graph: _Graph, formulas: list[Formula], leaf: str) -> str:
    """The action of each observation at its leaf (n, 1), as doubles (n, n_components)."""
    place = graph.add("Squeeze", leaf, graph.constant(np.array([1])))

    def at_leaf(values: Any) -> str:
        """Rows of values (n_leaves, ...) for the leaf of each observation."""
        return graph.add("Gather", graph.constant(values), place, axis=0)

    total = at_leaf(np.array([[s.constant for s in formula.sums] for formula in formulas]))
    n_terms = max(len(s.terms) for formula in formulas for s in formula.sums)
    degree = max((len(t.features) for formula in formulas for s in formula.sums for t in s.terms), default=0)
    for number in range(n_terms):
        terms = [[s.terms[number] if number < len(s.terms) else None for s in formula.sums] for formula in formulas]
        product = at_leaf(np.array([[0.0 if t is None else t.weight for t in row] for row in terms]))
        for factor in range(degree):
            used = [
                [-1 if t is None or factor >= len(t.features) else t.features[factor] for t in row] for row in terms
            ]
            product = graph.add("Mul", product, _features(graph, at_leaf(np.array(used, dtype=np.int64))))
        total = graph.add("Add", total, product)
    first = formulas[0]
    if first.choices is not None:
        best = graph.add("ArgMax", total, axis=1, keepdims=0)
        return graph.add("Gather", graph.constant(np.array(first.choices)), best, axis=0)
    if first.low is not None and first.high is not None:
        total = graph.add("Max", total, graph.constant(np.array([first.low])))
        return graph.add("Min", total, graph.constant(np.array([first.high])))
    return total


def _features(graph: _Graph, numbers: str) -> str:
    """The features with these numbers (n, m) of each observation; 1 where the number is -1."""
    none = graph.add("Less", numbers, graph.constant(np.array([[0]])))
    safe = graph.add("Where", none, graph.constant(np.array([[0]])), numbers)
    found = graph.add("GatherElements", graph.seen, safe, axis=1)
    return graph.add("Where", none, graph.constant(np.array([[1.0]])), found)
