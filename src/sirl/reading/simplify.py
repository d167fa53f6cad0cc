"""Exact simplification that knows the bounds: a split that no observation can turn goes.

``sirl.model.tree.simplify`` knows what follows from the same sum compared twice. Here linear programming looks at
everything above a split, and at the bounds of the features: on observations within them the policy stays the same.
"""

from __future__ import annotations

from sirl.model.policy import Policy
from sirl.model.task import Task
from sirl.model.tree import Tree, simplify
from sirl.reading.rebuild import rebuild
from sirl.reading.region import MARGIN, Region, branch_rows


def simplify_within_bounds(tree: Tree, task: Task) -> Tree:
    """The same policy on every observation within the task's bounds, without splits that none can turn."""
    tree = simplify(tree)

    def keep(node: int, region: Region) -> int | tuple[Region, Region]:
        weights, threshold = tree.weights[node], float(tree.thresholds[node])
        yes, no = tree.children[node].tolist()
        slack = MARGIN * (1.0 + abs(threshold))
        if region.largest(weights) < threshold - slack:
            return int(yes)
        if -region.largest(-weights) > threshold + slack:
            return int(no)
        on_yes, on_no = branch_rows(weights, threshold)
        return region.where(on_yes), region.where(on_no)

    return simplify(rebuild(tree, Region(task), keep))


def simplified(policy: Policy) -> Policy:
    """A policy with its tree simplified; what it does on observations within the bounds is the same."""
    return Policy(policy.task, simplify_within_bounds(policy.tree, policy.task), policy.origin)
