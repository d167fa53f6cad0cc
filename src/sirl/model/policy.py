"""A trained policy: a tree with the names and spaces of its task."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sirl.arrays import Actions, Flags
from sirl.errors import SirlError, did_you_mean
from sirl.files import read_plain, write_atomically
from sirl.model import policy_file
from sirl.model.policy_file import Content, Origin
from sirl.model.task import Task
from sirl.model.text import draw_tree
from sirl.model.tree import Tree


class Policy:
    """A decision tree that plays one task.

    ``predict`` has the signature of Stable-Baselines3, so its ``evaluate_policy`` accepts a policy;
    ``print(policy)`` shows the tree.
    """

    def __init__(self, task: Task, tree: Tree, origin: Origin | None = None):
        self.task, self.tree = task, tree
        self.origin = origin or Origin()

    def predict(
        self,
        observation: Any,
        state: tuple[Actions, ...] | None = None,
        episode_start: Flags | None = None,  # noqa: ARG002 - part of the signature
        deterministic: bool = True,  # noqa: ARG002 - a tree has no noise to add
    ) -> tuple[Any, tuple[Actions, ...] | None]:
        """The action for an observation, or the actions (n, *action_shape) for a stack of them.

        Returns:
            The action, as the environment takes it, and ``state`` as it came.
        """
        rows = self.task.rows(observation)
        if np.isnan(rows).any():
            feature = self.task.features[int(np.isnan(rows).any(axis=0).argmax())]
            raise SirlError(f"the observation has NaN as {feature}, on which no condition decides: fix what gives it.")
        actions = self.tree.act(rows)
        single_ndim = 0 if self.task.observation == "one-hot" else 1
        return (actions[0] if np.ndim(observation) == single_ndim else actions), state

    def __str__(self) -> str:
        return draw_tree(self.tree, self.task)

    def __repr__(self) -> str:
        return f"<Policy for {self.task.env}: {self.tree.n_leaves} leaves, depth {self.tree.depth}>"

    def mismatch(self, task: Task) -> str:
        """Why this policy can't play a task; empty if it can."""
        return self.task.mismatch(task) or self.tree.leaves.outside(task)

    def scored(self, **scores: float) -> Policy:
        """The same policy with other scores in its origin."""
        return Policy(self.task, self.tree, msgspec.structs.replace(self.origin, **scores))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file: all of it, or nothing."""
        write_atomically(Path(path), self.to_json())

    def to_json(self) -> bytes:
        """The file's bytes; the same policy gives the same bytes."""
        return policy_file.encode(Content(self.task, self.tree, self.origin))

    @staticmethod
    def from_json(content: bytes, name: str = "the model") -> Policy:
        """The policy in a file's bytes; ``name`` is what a message calls it."""
        return Policy(*policy_file.decode(content, name))

    def changed(self, tree: Tree, how: str) -> Policy:
        """A policy that plays another tree; it says what was done, and claims no score of this one."""
        return Policy(self.task, tree, self.origin.after(how))


def load(model: str | os.PathLike[str]) -> Policy:
    """The policy in a model file, in a run directory, or built in.

    Args:
        model: a path, or a name: ``paper:LunarLander`` is a tree that the paper prints, ``zoo:LunarLander`` the best
            small policy that was trained here.
    """
    if is_built_in(model):
        return _built_in(*str(model).split(":", 1))
    path = Path(model)
    if path.is_dir():
        path = path / "champion.json"
    try:
        content = read_plain(path, policy_file.LARGEST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SirlError(
            f"{path} can't be read ({reason}): give a model file, a run directory that has a champion, "
            "or a name such as paper:LunarLander."
        ) from None
    policy = Policy.from_json(content, str(path))
    if not policy_file.is_sealed(content):  # as after an edit by hand, so that its scores are another's
        return policy.changed(policy.tree, "edited by hand")
    return policy


def is_edited(path: Path) -> bool:
    """Whether a model file can be read, and a person has changed it."""
    try:
        return bool(load(path).origin.changed)
    except SirlError:
        return False


def is_built_in(model: str | os.PathLike[str]) -> bool:
    """Whether a model is one that comes with the package."""
    return isinstance(model, str) and model.partition(":")[0] in ("paper", "zoo") and ":" in model


def _built_in(shelf: str, name: str) -> Policy:
    files = {file.name.removesuffix(".json"): file for file in resources.files(f"sirl.{shelf}").iterdir()}
    known = sorted(stem for stem, file in files.items() if file.name.endswith(".json") and stem != "cards")
    if name not in known:
        hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}."
        owner = "the paper prints no tree" if shelf == "paper" else "the zoo has no policy"
        raise SirlError(f"{owner} for {name!r}{hint}")
    return Policy.from_json(files[name].read_bytes(), f"{shelf}:{name}")
