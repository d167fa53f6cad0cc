"""Words for what several commands print."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sirl.model.policy import Policy
    from sirl.reading.playing import Stage
    from sirl.runs.evaluation import Evaluation


def fine(text: str) -> str:
    """Text for this terminal: in ASCII where it has nothing better."""
    from sirl.model.text import plain

    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return plain(text)
    return text


def width() -> int | None:
    """Columns of the terminal; None if there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def provenance(policy: Policy) -> str:
    """Where a policy comes from and what it is known to score, in one line; empty if nothing is known."""
    origin = policy.origin
    facts = [
        origin.method,
        origin.note,
        f"seed {origin.seed}" if origin.seed is not None else "",
        f"generation {origin.generation + 1}" if origin.generation is not None else "",
        origin.changed,
        f"validated at {origin.validation_score:.2f}" if origin.validation_score is not None else "",
        "paper's score {:.2f} ± {:.2f}".format(*origin.published_score) if origin.published_score else "",
    ]
    return ", ".join(fact for fact in facts if fact)


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


def print_change(stage: Stage, before: Policy, after: Policy, episodes: int) -> None:
    """What a change did to the score, on identical starts that nothing was chosen by."""
    import numpy as np

    old, new = (stage.score(policy, episodes) for policy in (before, after))
    change = new.returns - old.returns
    error = float(change.std(ddof=1)) / np.sqrt(len(change)) if len(change) > 1 else 0.0
    print(
        f"size   {size(before)} → {size(after)}\n"
        f"score  {old.mean:.2f} ± {old.std:.2f} → {new.mean:.2f} ± {new.std:.2f} on the same "
        f"{count(episodes, 'unseen episode')}\n"
        f"change {change.mean():+.2f} (standard error {error:.2f}), worse in {int((change < 0).sum())}, "
        f"better in {int((change > 0).sum())}"
    )
