"""A trained policy: a tree with the names and spaces of its task, and its file.

The file is JSON with a schema number, made to be read, compared and edited by hand: a condition names its
features, a leaf holds either Q-values or an action. Loading checks everything and executes nothing. A checksum of the
content, not of the layout, tells damage from what was written; who edits a file deletes that line.
"""

from __future__ import annotations

import hashlib
import math
import os
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from sirl.errors import SirlError, did_you_mean
from sirl.files import read_plain, write_atomically
from sirl.model.task import Menu, Task
from sirl.model.text import draw_tree
from sirl.model.tree import FixedLeaves, QLeaves, Tree

SCHEMA = 1
_FORMAT = "sirl policy"
_DEEPEST = 300
"""Conditions on a path: JSON nests no deeper in Python, and nobody reads on from there."""
_LARGEST = 50_000_000
"""Bytes of a model file."""
_MOST_ACTIONS = 100_000
_MOST_WEIGHTS = 20_000_000
"""Conditions times features: a file of a few names must not ask for gigabytes."""
_WHOLE = tuple(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))
_DTYPES = ("float16", "float32", "float64", *_WHOLE)


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a policy comes from."""

    method: str = ""
    seed: int | None = None
    generation: int | None = None
    individual: int | None = None
    training_score: float | None = None
    validation_score: float | None = None
    published_score: tuple[float, float] | None = None
    """Mean and standard deviation that a paper reports for it."""
    note: str = ""
    sirl: str = ""


class Policy:
    """A decision tree that plays one task.

    ``predict`` has the signature of Stable-Baselines3, so its ``evaluate_policy`` accepts a policy;
    ``print(policy)`` shows the tree.
    """

    def __init__(self, task: Task, menu: Menu, tree: Tree, origin: Origin | None = None):
        self.task, self.menu, self.tree = task, menu, tree
        self.origin = origin or Origin()
        self._actions = tree.leaves.actions(menu)

    def predict(
        self,
        observation: Any,
        state: tuple[NDArray[Any], ...] | None = None,
        episode_start: NDArray[np.bool_] | None = None,  # noqa: ARG002 - part of the signature
        deterministic: bool = True,  # noqa: ARG002 - a tree has no noise to add
    ) -> tuple[Any, tuple[NDArray[Any], ...] | None]:
        """The action for an observation, or the actions (n, *action_shape) for a stack of them.

        Returns:
            The action, as the environment takes it, and ``state`` as it came.
        """
        actions = self._actions[self.tree.walk(self.task.rows(observation))]
        single_ndim = 0 if self.task.observation == "one-hot" else 1
        return (actions[0] if np.ndim(observation) == single_ndim else actions), state

    def __str__(self) -> str:
        return draw_tree(self.tree, self.task.features, self.menu)

    def __repr__(self) -> str:
        return f"<Policy for {self.task.env}: {self.tree.n_leaves} leaves, depth {self.tree.depth}>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file: all of it, or nothing."""
        write_atomically(Path(path), self.to_json())

    def to_json(self) -> bytes:
        """The file's bytes; the same policy gives the same bytes."""
        if self.tree.depth > _DEEPEST:
            raise SirlError(
                f"a tree of depth {self.tree.depth} is too deep for a model file, which holds {_DEEPEST}: "
                "lower genotype_length."
            )
        content = _File(
            format=_FORMAT,
            schema=SCHEMA,
            task=self.task,
            actions=_Actions(names=self.menu.names, values=self.menu.values.tolist()),
            tree=_to_nodes(self.tree, self.task.features),
            origin=self.origin,
        )
        values = msgspec.to_builtins(content)
        values["checksum"] = _checksum(values)
        return (_lay_out(values) + "\n").encode()

    @staticmethod
    def from_json(content: bytes, name: str = "the model") -> Policy:
        """The policy in a file's bytes; ``name`` is what a message calls it."""
        try:
            head = msgspec.json.decode(content, type=_Head)
            if head.format != _FORMAT:
                raise SirlError(f"{name} is not a sirl policy: give a champion.json that sirl wrote.")
            if head.schema < 1:
                raise _Broken(f"its schema is {head.schema}")
            if head.schema > SCHEMA:
                raise SirlError(
                    f"{name} has schema {head.schema}, but this sirl reads up to {SCHEMA}: install a newer sirl."
                )
            if head.checksum is not None and head.checksum != _checksum(msgspec.json.decode(content)):
                raise SirlError(
                    f"{name} is not as sirl wrote it, its checksum does not fit: if you have edited it, delete its "
                    'line "checksum"; if not, it is damaged, so restore it.'
                )
            return _from_file(msgspec.json.decode(content, type=_File))
        except (msgspec.DecodeError, _Broken, RecursionError, UnicodeDecodeError) as error:
            reason = "it nests too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
            raise SirlError(
                f"{name} is not a readable sirl policy ({reason}): correct it, or give one that sirl wrote."
            ) from None


def load(model: str | os.PathLike[str]) -> Policy:
    """The policy in a model file, in a run directory, or built in.

    Args:
        model: a path, or a name such as ``paper:LunarLander`` for a tree that the paper prints.
    """
    if isinstance(model, str) and model.startswith("paper:"):
        return _built_in(model.removeprefix("paper:"))
    path = Path(model)
    if path.is_dir():
        path = path / "champion.json"
    try:
        content = read_plain(path, _LARGEST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SirlError(
            f"{path} can't be read ({reason}): give a model file, a run directory that has a champion, "
            "or a name such as paper:LunarLander."
        ) from None
    return Policy.from_json(content, str(path))


def _built_in(name: str) -> Policy:
    files = {file.name.removesuffix(".json"): file for file in resources.files("sirl.paper").iterdir()}
    known = sorted(stem for stem, file in files.items() if file.name.endswith(".json"))
    if name not in known:
        hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}."
        raise SirlError(f"the paper prints no tree for {name!r}{hint}")
    return Policy.from_json(files[name].read_bytes(), f"paper:{name}")


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """The content of a file contradicts itself."""


class _Head(msgspec.Struct):
    format: str = ""
    schema: int = 0
    checksum: str | None = None


class _Actions(msgspec.Struct, forbid_unknown_fields=True):
    names: list[str]
    values: list[float | list[float]]


class _Node(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A split (the first four fields) or a leaf (one of the last two)."""

    weights: dict[str, float] | None = None
    threshold: float | None = None
    if_true: _Node | None = None
    if_false: _Node | None = None
    action: float | list[float] | None = None
    q_values: list[float] | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    format: str
    schema: int
    checksum: str | None = None
    """Not the last line of the file, so that nothing but the line goes when it is deleted."""
    task: Task
    actions: _Actions
    tree: _Node
    origin: Origin


def _checksum(values: dict[str, Any]) -> str:
    """SHA-256 of a file's content without this very line; the same however the JSON is laid out."""
    rest = {name: value for name, value in values.items() if name != "checksum"}
    return hashlib.sha256(msgspec.json.encode(rest, order="sorted")).hexdigest()


def _lay_out(value: Any, indent: str = "") -> str:
    """JSON as a person would write it: what fits on a line stays on one."""
    flat = msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    if not isinstance(value, dict | list) or len(flat) + len(indent) <= 100:
        return flat
    deeper = indent + "  "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _lay_out(v, deeper) for v in value) + f"\n{indent}]"
    lines = [f"{deeper}{msgspec.json.encode(k).decode()}: {_lay_out(v, deeper)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _to_nodes(tree: Tree, features: list[str]) -> _Node:
    """The tree as nested nodes, built from the last split up, since children come after their parent."""
    if isinstance(tree.leaves, QLeaves):
        leaves = [_Node(q_values=row) for row in tree.leaves.q_values.tolist()]
    else:
        leaves = [_Node(action=value) for value in tree.leaves.values.tolist()]
    splits: dict[int, _Node] = {}
    for split in reversed(range(tree.n_splits)):
        yes, no = (splits[c] if c >= 0 else leaves[~c] for c in tree.children[split].tolist())
        weights = {features[f]: float(tree.weights[split, f]) for f in np.flatnonzero(tree.weights[split])}
        splits[split] = _Node(weights=weights, threshold=float(tree.thresholds[split]), if_true=yes, if_false=no)
    return splits[0] if splits else leaves[0]


def _from_file(file: _File) -> Policy:
    task = file.task
    counts = {len(task.features), len(task.feature_low), len(task.feature_high)}
    if len(counts) != 1 or not task.features or len(set(task.features)) != len(task.features):
        raise _Broken("its features are not named one by one")
    origin = file.origin
    named = [task.env, *task.features, *task.action_names, *file.actions.names, origin.method, origin.note, origin.sirl]
    if odd := next((name for name in named if not name.isprintable()), None):
        raise _Broken(f"its name {odd!r} has a character that does not print")
    if not all(map(str.strip, [task.env, *task.features, *task.action_names, *file.actions.names])):
        raise _Broken("a name in it is empty")
    if abs(task.observation_start) > 2**53:
        raise _Broken(f"its observations start at {task.observation_start}")
    if task.action_dtype not in (_DTYPES if task.action == "box" else _WHOLE):
        raise _Broken(f"its actions are of type {task.action_dtype!r}")
    n = len(task.action_low)
    if task.action_shape != ([] if task.action == "discrete" else [n]) or len(task.action_high) != n or not n:
        raise _Broken("the shape and the bounds of its actions do not agree")
    if not 0 < len(file.actions.values) == len(file.actions.names) <= _MOST_ACTIONS:
        raise _Broken("its actions are not named one by one")
    values = np.array([_checked_action(value, task) for value in file.actions.values])
    menu = Menu(values.astype(task.action_dtype), file.actions.names)
    return Policy(task, menu, _to_tree(file.tree, task, menu), file.origin)


def _checked_action(value: float | list[float], task: Task) -> NDArray[np.float64]:
    """An action (*action_shape) that lies in the task's space."""
    action = np.array(value, dtype=np.float64)
    if action.shape != tuple(task.action_shape):
        raise _Broken(f"its action {value} does not have the shape {task.action_shape}")
    if task.action != "box" and (action != np.rint(action)).any():
        raise _Broken(f"its action {value} is no whole number")
    low, high = np.array(task.action_low), np.array(task.action_high)
    with np.errstate(over="ignore", invalid="ignore"):
        typed = action.astype(task.action_dtype)
    played = action if task.action_dtype in _WHOLE else typed
    if not ((low <= played) & (played <= high)).all():
        raise _Broken(f"its action {value} lies outside the bounds {task.action_low} to {task.action_high}")
    if played is action and (typed != action).any():
        raise _Broken(f"its action {value} is none of type {task.action_dtype}")
    return action


def _to_tree(top: _Node, task: Task, menu: Menu) -> Tree:
    """Nested nodes as arrays, splits and leaves numbered in pre-order."""
    weights: list[NDArray[np.float64]] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    leaves: list[_Node] = []
    columns = {name: column for column, name in enumerate(task.features)}
    pending: list[tuple[_Node, int, int]] = [(top, -1, 0)]
    while pending:
        node, parent, side = pending.pop()
        is_split = node.weights is not None
        if parent >= 0:
            children[parent][side] = len(thresholds) if is_split else ~len(leaves)
        if node.weights is None:
            leaves.append(node)
            continue
        if node.threshold is None or node.if_true is None or node.if_false is None:
            raise _Broken("a condition lacks threshold, if_true or if_false")
        if node.action is not None or node.q_values is not None:
            raise _Broken("a node is both a condition and a leaf")
        split = len(thresholds)
        if split * task.n_features > _MOST_WEIGHTS:
            raise _Broken(f"it has too many conditions for {task.n_features} features")
        weights.append(_weights_row(node.weights, columns))
        thresholds.append(_finite(node.threshold))
        children.append([0, 0])
        pending += [(node.if_false, split, 1), (node.if_true, split, 0)]
    tree = Tree(
        np.array(weights).reshape(-1, task.n_features),
        np.array(thresholds, dtype=np.float64),
        np.array(children, dtype=np.int32).reshape(-1, 2),
        _to_leaves(leaves, task, menu),
    )
    if tree.depth > _DEEPEST:
        raise RecursionError
    return tree


def _weights_row(named: dict[str, float], columns: dict[str, int]) -> NDArray[np.float64]:
    row = np.zeros(len(columns))
    for name, value in named.items():
        if name not in columns:
            raise _Broken(f"a condition weighs {name!r}, which is no feature{did_you_mean(name, list(columns))}")
        row[columns[name]] = _finite(value)
    return row


def _to_leaves(nodes: list[_Node], task: Task, menu: Menu) -> QLeaves | FixedLeaves:
    """Q-values if every leaf has them; else fixed actions, as when a leaf was edited by hand."""
    for node in nodes:
        if (node.q_values is None) == (node.action is None) or node.threshold is not None:
            raise _Broken("a leaf needs either q_values or an action, and nothing else")
        if node.if_true is not None or node.if_false is not None:
            raise _Broken("a condition lacks weights")
        if node.q_values is not None and len(node.q_values) != len(menu.values):
            raise _Broken(f"a leaf has {len(node.q_values)} q_values for {len(menu.values)} actions")
        for value in node.q_values or []:
            _finite(value)
    if all(node.q_values is not None for node in nodes):
        return QLeaves(np.array([node.q_values for node in nodes], dtype=np.float64))
    return FixedLeaves(
        np.array(
            [
                menu.values[int(np.argmax(node.q_values or 0))]
                if node.action is None
                else _checked_action(node.action, task)
                for node in nodes
            ],
            dtype=np.float64,
        )
    )


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise _Broken(f"{value} is no finite number")
    return value
