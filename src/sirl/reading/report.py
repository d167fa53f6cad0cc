"""What a report tells, computed: a record that the page draws. Nothing here knows how it looks."""

from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

import numpy as np

from sirl.arrays import Floats
from sirl.model.policy import Policy
from sirl.reading.describing import View, describe_tree, look, tell_size
from sirl.reading.explain import TermLoss, term_losses, told_node
from sirl.reading.playing import Stage, Trace, trace
from sirl.reading.replay import Picture, Replay, play_replay
from sirl.reading.sensitivity import Constant, Sweep, constants, sweep, usual_range
from sirl.reading.simplify import simplified
from sirl.reading.weights import places, term_name
from sirl.runs.evaluation import Evaluation
from sirl.search.records import Record

_MOST_PICTURES = 150
_MOST_SWEEPS = 6
_SWEEP_POINTS = 9
_PICTURE_WIDTH = 420


class Effort(NamedTuple):
    """How much is played for a report."""

    episodes: int = 100
    """To score, and to count visits in."""
    variants: int = 10
    """Episodes of each variant that explains something; 0: nothing is explained."""
    replays: int = 2


def gather(policy: Policy, stage: Stage, history: list[Record], provenance: str, effort: Effort) -> dict[str, Any]:
    """All that the page shows of a policy, and of the run that made it, if there is a history."""
    shown = simplified(policy)
    seen = stage.trace(shown.tree, min(20, effort.episodes))
    view = look(shown, seen)
    score = stage.score(shown, effort.episodes)
    terms, sweeps = _explained(view, stage, effort.variants)
    replays = [_replayed(shown, stage, int(seed)) for seed in stage.seeds(effort.replays)] if effort.replays else []
    notes = []
    if dead := policy.tree.n_splits - shown.tree.n_splits:
        notes.append(f"{dead} splits can't be turned by any observation within the bounds, and are left out here.")
    if replays and not any(replay["pictures"] for replay in replays):
        notes.append("The environment drew no pictures here, so the replay shows numbers only.")
    return {
        "title": f"A policy for {policy.task.env}",
        "subtitle": provenance or "where it comes from is not known",
        "facts": _facts(view, score),
        "notes": notes,
        "tree": describe_tree(view),
        "features": _features(view, seen),
        "replays": replays,
        "terms": terms,
        "sweeps": sweeps,
        "score": _score(score),
        "training": _training(history) if history else None,
    }


def _facts(view: View, score: Evaluation) -> list[tuple[str, str, str]]:
    size = view.complexity
    operations = f"{size.operations:,.0f}" if size.operations is not None else "unknown"
    return [
        ("Score", f"{score.mean:.2f}", f"± {score.std:.2f} on {len(score.returns)} unseen episodes"),
        ("Rules", str(size.leaves), tell_size(size._replace(operations=None))),
        ("Work", operations, "multiply-accumulates per episode"),
        ("Episodes last", f"{score.lengths.mean():.0f} steps", f"{score.lengths.min()} to {score.lengths.max()}"),
    ]


def _features(view: View, seen: Trace) -> list[dict[str, Any]]:
    """For each slider, one for what is observed: from where to where, and where it starts; by what was seen."""
    low, high = seen.observations.min(axis=0), seen.observations.max(axis=0)
    room = np.where(high > low, 0.1 * (high - low), 1.0)
    low, high, middle = low - room, high + room, np.median(seen.observations, axis=0)
    task, found = view.policy.task, []
    for place, name in enumerate(task.features[: task.n_observed]):
        least, most = task.feature_low[place], task.feature_high[place]
        bottom = low[place] if least is None else max(low[place], least)
        top = high[place] if most is None else min(high[place], most)
        found.append({"name": name, "low": float(bottom), "high": float(top), "start": float(middle[place])})
    return found


def _explained(view: View, stage: Stage, episodes: int) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """What each term is worth, node by node, and sweeps of the constants beside the terms that are worth most."""
    tree = view.policy.tree
    if not episodes or not places(tree):
        return None, []

    def score(trees: Any) -> Floats:
        return stage.returns(trees, episodes)

    _, losses = term_losses(tree, score)
    told = [_worth(view, node, losses) for node in dict.fromkeys(t.place.node for t in losses)]
    return told, [_swept(s) for s in _sweeps(view, losses, score)]


def _worth(view: View, node: int, losses: list[TermLoss]) -> dict[str, Any]:
    """What each term of a split, or of a leaf's law (~leaf), is worth, most first."""
    tree, task = view.policy.tree, view.policy.task
    rows = sorted((t for t in losses if t.place.node == node), key=lambda t: -t.loss)
    several = node < 0 and len(task.action_names) > 1
    return {
        "node": node,
        "title": f"Question {node + 1}" if node >= 0 else f"Law {-node}",
        "text": view.conditions[node].text(task.features, view.digits[node])
        if node >= 0
        else told_node(tree, task, node),
        "terms": [
            {
                "feature": term_name(tree, task, t.place),
                "output": task.action_names[t.place.output] if several else "",
                "loss": finite(t.loss),
                "error": finite(t.error),
            }
            for t in rows
        ],
    }


def _sweeps(view: View, losses: list[TermLoss], score: Any) -> list[Sweep]:
    tree, task = view.policy.tree, view.policy.task
    worth: dict[object, float] = {}
    for place, loss, _ in losses:
        worth[place if place.node < 0 else (place.node, task.features[place.term])] = loss
    known = sorted(constants(tree, task), key=lambda c: -worth.get(c.place or (c.node, c.name), 0.0))[:_MOST_SWEEPS]
    return [sweep(tree, task, constant, usual_range(constant, _SWEEP_POINTS), score) for constant in known]


def _swept(found: Sweep) -> dict[str, Any]:
    columns = {"values": found.values, "means": found.means, "stds": found.stds}
    lists = {name: [finite(v) for v in column.tolist()] for name, column in columns.items()}
    return {"label": found.constant.label, "title": _title(found.constant), "own": found.constant.value, **lists}


def _title(constant: Constant) -> str:
    """What a constant is, for someone who sees the tree."""
    if constant.node >= 0:
        return f"Question {constant.node + 1}: {'bound' if constant.name == 'bound' else f'factor of {constant.name}'}"
    output, _, term = constant.name.partition(".")
    return f"{output}: {term if term == 'constant' else f'factor of {term}'}"


def finite(value: float) -> float | None:
    """A number as JSON has it: None where a simulation broke down."""
    return value if np.isfinite(value) else None


def _replayed(policy: Policy, stage: Stage, seed: int) -> dict[str, Any]:
    """An episode as the page plays it, with pictures of some of its steps."""
    length = len(trace(policy.tree, policy.task, stage.recipe, np.array([seed]), stage.max_steps).rewards)
    every = -(-length // _MOST_PICTURES)
    replay = play_replay(policy, stage.recipe, seed, stage.max_steps, every)
    return {
        "score": float(replay.rewards.sum()),
        "observations": replay.observations[:, : policy.task.n_observed].tolist(),
        "rewards": replay.rewards.tolist(),
        "every": every,
        "pictures": _pictures(replay, every),
    }


def _pictures(replay: Replay, every: int) -> list[str]:
    taken = replay.pictures[::every]
    return [] if any(picture is None for picture in taken) else [data_uri(p) for p in taken if p is not None]


def data_uri(picture: Picture) -> str:
    """A picture as a small JPEG inside a link."""
    from PIL import Image

    image = Image.fromarray(picture)
    if image.width > _PICTURE_WIDTH:
        image = image.resize((_PICTURE_WIDTH, image.height * _PICTURE_WIDTH // image.width))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=72)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"


def _score(score: Evaluation) -> dict[str, Any]:
    returns = score.returns
    text = (
        f"{score.mean:.2f} ± {score.std:.2f} over {len(returns)} episodes that no training has seen; the worst "
        f"{returns.min():.2f}, the best {returns.max():.2f}. Every dot is an episode."
    )
    return {"text": text, "returns": returns.tolist()}


def _training(history: list[Record]) -> dict[str, Any]:
    episodes, checks = sum(r.episodes for r in history), sum(r.validation.episodes for r in history)
    steps, seconds = sum(r.steps for r in history), sum(r.seconds for r in history)
    generations = "1 generation" if len(history) == 1 else f"{len(history)} generations"
    text = (
        f"{generations}, {episodes:,} episodes and {checks:,} more to choose the champion, {steps:,} steps in "
        f"{seconds / 60:.1f} minutes."
    )
    champions = [r.champion for r in history]
    scores = [
        None if c is None else c.training_score if c.validation_score is None else c.validation_score for c in champions
    ]
    curves = {
        "generation": [r.generation + 1 for r in history],
        "best": [finite(r.best) for r in history],
        "mean": [finite(r.mean) for r in history],
        "champion": scores,
        "leaves": [None if c is None else c.leaves for c in champions],
    }
    return {"text": text, "curves": curves}
