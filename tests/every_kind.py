"""A small policy of every leaf kind there is, on tasks that take a moment to play."""

from __future__ import annotations

import numpy as np

import sirl
from sirl.config import Settings
from sirl.model.menu import make_menu
from sirl.model.policy import Policy
from sirl.reading.edit import read_text
from sirl.simulators.recipes import inspect, make_recipe
from test_tree import random_tree

KINDS = ("menu", "fixed", "law", "law with products", "scores", "scores with products")

_TEXTS = {
    "fixed": "if theta < 0\n  [0.123]\nelse\n  push -1",
    "law": "push = 9.027*x + 34.26*theta + 1.097*v + 2.096*omega - 0.01543",
    "law with products": "if x < 0.5*theta\n  push = 9.1*x + 34.26*theta - 2.5*x*theta + 0.3*v*v\nelse\n"
    "  push = 2*omega + 0.1",
    "scores": "if p_y < 0.5\n  largest of\n    coast = 0.1\n    fire left engine = 0.5*theta\n"
    "    fire main engine = -2*v_y - 0.25*p_y\n    fire right engine = -0.5*theta\nelse\n  coast",
    "scores with products": "largest of\n  coast = 0.1\n  fire left engine = 0.5*theta*omega\n"
    "  fire main engine = -2*v_y - 0.25*p_y*p_y\n  fire right engine = -0.5*theta",
}  # fmt: skip


def policy_of_kind(kind: str) -> Policy:
    """A policy whose leaves are of a kind."""
    if kind == "menu":
        task = inspect(make_recipe("CartPole-v1")).task
        menu = make_menu(task, Settings())
        return Policy(task, random_tree(3, 4, 2, np.random.default_rng(0), menu))
    base = "LunarLander" if "scores" in kind else "InvertedPendulum"
    return read_text(_TEXTS[kind], sirl.load(f"paper:{base}"))
