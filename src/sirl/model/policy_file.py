"""A policy as a file: JSON with a schema number, made to be read, compared and edited by hand.

A condition names its features, a leaf is a row of its kind. Loading checks everything and executes nothing. A checksum
of the content, not of the layout, tells damage from what was written; who edits a file deletes that line.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec
import numpy as np

from sirl.arrays import Floats
from sirl.errors import SirlError, did_you_mean
from sirl.model.kinds import read_leaves
from sirl.model.leaves import WHOLE, Broken, checked_action, finite
from sirl.model.menu import Menu
from sirl.model.task import Task
from sirl.model.tree import Tree

SCHEMA = 1
DEEPEST = 300
"""Conditions on a path: JSON nests no deeper in Python, and nobody reads on from there."""
LARGEST = 50_000_000
"""Bytes of a model file."""
_FORMAT = "sirl policy"
_MOST_ACTIONS = 100_000
_MOST_WEIGHTS = 20_000_000
"""Conditions times features: a file of a few names must not ask for gigabytes."""
_DTYPES = ("float16", "float32", "float64", *WHOLE)


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a policy comes from."""

    method: str = ""
    seed: int | None = None
    generation: int | None = None
    individual: int | None = None
    training_score: float | None = None
    """Mean return of its individual phase: its fitness."""
    validation_score: float | None = None
    """Mean return on the fresh episodes of its latest validation."""
    published_score: tuple[float, float] | None = None
    """Mean and standard deviation that a paper reports for it."""
    note: str = ""
    changed: str = ""
    """What was done to it since then, such as "edited by hand"; it has no score after that until it is scored."""
    sirl: str = ""

    def after(self, change: str) -> Origin:
        """The origin of a policy that was changed: what its scores were, they are no longer."""
        said = change if self.changed in ("", change) else f"{self.changed}, {change}"
        scores = {"training_score": None, "validation_score": None, "published_score": None}
        return msgspec.structs.replace(self, changed=said, **scores)


class Content(NamedTuple):
    """What a file holds."""

    task: Task
    tree: Tree
    origin: Origin


class _Head(msgspec.Struct):
    format: str = ""
    schema: int = 0
    checksum: str | None = None


class _Actions(msgspec.Struct, forbid_unknown_fields=True):
    names: list[str]
    values: list[float | list[float]]


class _Split(msgspec.Struct, forbid_unknown_fields=True):
    weights: dict[str, float]
    threshold: float
    if_true: dict[str, Any]
    if_false: dict[str, Any]


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    format: str
    schema: int
    checksum: str | None
    """Not the last line of the file, so that nothing but the line goes when it is deleted."""
    task: dict[str, Any]
    actions: _Actions | None = None
    tree: dict[str, Any]
    origin: dict[str, Any]


def encode(content: Content) -> bytes:
    """The file's bytes; the same policy gives the same bytes."""
    task, tree, origin = content
    if tree.depth > DEEPEST:
        raise SirlError(
            f"a tree of depth {tree.depth} is too deep for a model file, which holds {DEEPEST}: lower genotype_length."
        )
    menu = tree.leaves.menu
    file = _File(
        format=_FORMAT,
        schema=SCHEMA,
        checksum=None,
        task=msgspec.to_builtins(task, enc_hook=repr),  # an option of the environment may be any object
        actions=None if menu is None else _Actions(menu.names, menu.values.tolist()),
        tree=_to_nodes(tree, task),
        origin=msgspec.to_builtins(origin),
    )
    values = msgspec.to_builtins(file)
    values["checksum"] = _checksum(values)
    return (_lay_out(values) + "\n").encode()


def decode(content: bytes, name: str) -> Content:
    """What a file's bytes hold; ``name`` is what a message calls it."""
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.format != _FORMAT:
            raise SirlError(f"{name} is not a sirl policy: give a champion.json that sirl wrote.")
        if head.schema < 1:
            raise Broken(f"its schema is {head.schema}")
        if head.schema > SCHEMA:
            raise SirlError(
                f"{name} has schema {head.schema}, but this sirl reads up to {SCHEMA}: install a newer sirl."
            )
        values = msgspec.json.decode(content)
        if head.checksum is not None and head.checksum != _checksum(values):
            raise SirlError(
                f"{name} is not as sirl wrote it, its checksum does not fit: if you have edited it, delete its "
                'line "checksum"; if not, it is damaged, so restore it.'
            )
        return _content(msgspec.convert({"checksum": None} | values, _File))
    except (msgspec.DecodeError, Broken, RecursionError, UnicodeDecodeError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
        raise SirlError(
            f"{name} is not a readable sirl policy ({reason}): correct it, or give one that sirl wrote."
        ) from None


def is_sealed(content: bytes) -> bool:
    """Whether a readable file has the checksum that sirl writes."""
    return msgspec.json.decode(content, type=_Head).checksum is not None


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


def _to_nodes(tree: Tree, task: Task) -> dict[str, Any]:
    """The tree as nested nodes, built from the last split up, since children come after their parent."""
    leaves = [msgspec.to_builtins(row) for row in tree.leaves.rows(task)]
    splits: dict[int, dict[str, Any]] = {}
    for split in reversed(range(tree.n_splits)):
        yes, no = (splits[c] if c >= 0 else leaves[~c] for c in tree.children[split].tolist())
        weights = {task.features[f]: float(tree.weights[split, f]) for f in np.flatnonzero(tree.weights[split])}
        node = _Split(weights, float(tree.thresholds[split]), yes, no)
        splits[split] = {field: getattr(node, field) for field in node.__struct_fields__}
    return splits[0] if splits else leaves[0]


def _content(file: _File) -> Content:
    task, origin = msgspec.convert(file.task, Task), msgspec.convert(file.origin, Origin)
    menu = None if file.actions is None else _menu(file.actions, task)
    named = [
        task.env,
        *task.features,
        *task.action_names,
        *(task.derived or ()),
        *(task.mirror or ()),
        *(task.env_options or ()),
        origin.method,
        origin.note,
        origin.changed,
        origin.sirl,
    ]
    if odd := next((n for n in named + ([] if menu is None else menu.names) if not n.isprintable()), None):
        raise Broken(f"its name {odd!r} has a character that does not print")
    if not all(map(str.strip, [task.env, *task.features, *task.action_names, *([] if menu is None else menu.names)])):
        raise Broken("a name in it is empty")
    return Content(task, _to_tree(file.tree, _checked(task), menu), origin)


def _checked(task: Task) -> Task:
    """A task that does not contradict itself."""
    counts = {len(task.features), len(task.feature_low), len(task.feature_high)}
    if len(counts) != 1 or not task.features or len(set(task.features)) != len(task.features):
        raise Broken("its features are not named one by one")
    if task.derived:
        _check_derived(task)
    if abs(task.observation_start) > 2**53:
        raise Broken(f"its observations start at {task.observation_start}")
    if task.action_dtype not in (_DTYPES if task.action == "box" else WHOLE):
        raise Broken(f"its actions are of type {task.action_dtype!r}")
    n = len(task.action_low)
    if task.action_shape != ([] if task.action == "discrete" else [n]) or len(task.action_high) != n or not n:
        raise Broken("the shape and the bounds of its actions do not agree")
    try:
        return task.mirroring(task.mirror or ())
    except SirlError as error:
        raise Broken(str(error).rstrip(".")) from None


def _check_derived(task: Task) -> None:
    n, plain = task.n_observed, {"derived": msgspec.UNSET}
    if n < 1:
        raise Broken("all of its features are derived")
    for name in ("features", "feature_low", "feature_high"):
        plain[name] = getattr(task, name)[:n]
    try:
        if msgspec.structs.replace(task, **plain).deriving(task.derived or ()) != task:
            raise Broken("its derived features have other names or bounds than their formulas give")
    except SirlError as error:
        raise Broken(str(error).rstrip(".")) from None


def _menu(actions: _Actions, task: Task) -> Menu:
    if not 0 < len(actions.values) == len(actions.names) <= _MOST_ACTIONS:
        raise Broken("its actions are not named one by one")
    values = np.array([checked_action(value, _checked(task)) for value in actions.values])
    return Menu(values.astype(task.action_dtype), actions.names)


def _to_tree(top: dict[str, Any], task: Task, menu: Menu | None) -> Tree:
    """Nested nodes as arrays, splits and leaves numbered in pre-order."""
    weights: list[Floats] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    leaves: list[dict[str, Any]] = []
    columns = {name: column for column, name in enumerate(task.features)}
    pending: list[tuple[dict[str, Any], int, int]] = [(top, -1, 0)]
    while pending:
        node, parent, side = pending.pop()
        is_split = "weights" in node
        if parent >= 0:
            children[parent][side] = len(thresholds) if is_split else ~len(leaves)
        if not is_split:
            leaves.append(node)
            continue
        if extra := sorted(set(node) - set(_Split.__struct_fields__)):
            raise Broken(f"a node is both a condition and a leaf, since it has {', '.join(extra)}")
        condition = msgspec.convert(node, _Split)
        split = len(thresholds)
        if split * task.n_features > _MOST_WEIGHTS:
            raise Broken(f"it has too many conditions for {task.n_features} features")
        weights.append(_weights_row(condition.weights, columns))
        thresholds.append(finite(condition.threshold))
        children.append([0, 0])
        pending += [(condition.if_false, split, 1), (condition.if_true, split, 0)]
    tree = Tree(
        np.array(weights).reshape(-1, task.n_features),
        np.array(thresholds, dtype=np.float64),
        np.array(children, dtype=np.int32).reshape(-1, 2),
        read_leaves(leaves, task, menu),
    )
    if tree.depth > DEEPEST:
        raise RecursionError
    return tree


def _weights_row(named: dict[str, float], columns: dict[str, int]) -> Floats:
    row = np.zeros(len(columns))
    for name, value in named.items():
        if name not in columns:
            raise Broken(f"a condition weighs {name!r}, which is no feature{did_you_mean(name, list(columns))}")
        row[columns[name]] = finite(value)
    return row
