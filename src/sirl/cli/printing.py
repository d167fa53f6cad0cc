"""Words for what several commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.runs.evaluation import Evaluation


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size(policy: Policy) -> str:
    """How large a policy's tree is."""
    leaves = policy.tree.n_leaves
    return f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {policy.tree.depth}"


def print_score(policy: Policy, score: Evaluation, env: str) -> None:
    """What a policy scores, and how large it is."""
    print(
        f"score  {score.mean:.2f} ± {score.std:.2f} on {count(len(score.returns), 'unseen episode')} of {env} "
        f"(worst {score.returns.min():.2f}, best {score.returns.max():.2f}, mean length {score.lengths.mean():.0f})\n"
        f"size   {size(policy)}"
    )
