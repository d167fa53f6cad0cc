"""A policy as plain data, for programs in other languages."""

from __future__ import annotations

import json

from sirl.model.policy import Policy
from sirl.reading.describing import describe_tree, look


def write_json(policy: Policy) -> str:
    """A document with task, splits, leaves as formulas, and rules (docs/reading.md tells its fields)."""
    return json.dumps(describe_tree(look(policy)), indent=1, ensure_ascii=True) + "\n"
