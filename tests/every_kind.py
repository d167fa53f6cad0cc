"""A small policy of every leaf kind there is, on tasks that take a moment to play."""

from __future__ import annotations

import numpy as np

import sirl
from sirl.config import Settings
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.presets import presets
from sirl.reading.edit import read_text
from sirl.simulators.recipes import inspect, make_recipe
from test_tree import random_tree

KINDS = (
    *("menu", "fixed", "law", "law with products", "scores", "scores with products"),
    *("derived law", "derived scores", "mirrored scores"),
)

_TEXTS = {
    "fixed": "if theta < 0\n  [0.123]\nelse\n  push -1",
    "law": "push = 9.027*x + 34.26*theta + 1.097*v + 2.096*omega - 0.01543",
    "law with products": "if x < 0.5*theta\n  push = 9.1*x + 34.26*theta - 2.5*x*theta + 0.3*v*v\nelse\n"
    "  push = 2*omega + 0.1",
    "scores": "if p_y < 0.5\n  largest of\n    coast = 0.1\n    fire left engine = 0.5*theta\n"
    "    fire main engine = -2*v_y - 0.25*p_y\n    fire right engine = -0.5*theta\nelse\n  coast",
    "scores with products": "largest of\n  coast = 0.1\n  fire left engine = 0.5*theta*omega\n"
    "  fire main engine = -2*v_y - 0.25*p_y*p_y\n  fire right engine = -0.5*theta",
    "mirrored scores": "if p_y < 0.5\n  largest of\n    coast = 0\n"
    "    fire left engine = 0.5*theta - 0.25*c_l + 0.1\n    fire main engine = -2*v_y - 0.25*p_y + 3*p_x*theta\n"
    "    fire right engine = -0.5*theta - 0.25*c_r + 0.1\nelse\n  coast",
    "derived law": "if lean + 0.5*x < 0.25\n  push = 9.1*x + 34.26*lean - 2.5*x*lean + 0.3*swing*lean\nelse\n"
    "  push = 2*swing + 0.1*lean*lean",
    "derived scores": "if fall + 0.5*p_y < -0.5\n  largest of\n    coast = 0.1\n    fire left engine = 0.5*theta*fall\n"
    "    fire main engine = -2*fall - 0.25*fall*fall\n    fire right engine = -0.5*theta\nelse\n  coast",
}  # fmt: skip
_DERIVED = {
    "derived law": ["lean = theta + 0.1*omega", "swing = lean*omega/(1 + x**2)"],
    "derived scores": ["fall = v_y*(0.5 + p_y**2)"],
}


def policy_of_kind(kind: str) -> Policy:
    """A policy whose leaves are of a kind."""
    if kind == "menu":
        task = inspect(make_recipe("CartPole-v1")).task
        menu = make_menu(task, Settings())
        return Policy(task, random_tree(3, 4, 2, np.random.default_rng(0), menu))
    base = "LunarLander" if "scores" in kind else "InvertedPendulum"
    start = deriving(sirl.load(f"paper:{base}"), _DERIVED.get(kind, []))
    if kind == "mirrored scores":
        start = Policy(start.task.mirroring(presets()["LunarLander-v3"].mirror), start.tree)
    return read_text(_TEXTS[kind], start)


def deriving(policy: Policy, lines: list[str]) -> Policy:
    """The same policy on a task with derived features, none of which it uses."""
    unused = np.zeros((policy.tree.n_splits, len(lines)))
    tree = policy.tree._replace(weights=np.hstack([policy.tree.weights, unused]))
    return Policy(policy.task.deriving(lines), tree)
