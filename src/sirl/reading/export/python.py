"""A policy as Python that imports nothing."""

from __future__ import annotations

from sirl import __version__
from sirl.model.formula import Formula
from sirl.model.policy import Policy
from sirl.reading.export.source import Source, inert, whole


def write_python(policy: Policy) -> str:
    """A module with one function, ``act(observation)``."""
    task = policy.task
    writer = _Python(policy)
    lines = [
        f'"""The policy of a tree for {inert(task.env)}, written by sirl {__version__}; it imports nothing."""',
        "",
    ]
    lines += [f"FEATURES = {task.features[: task.n_observed]!a}", f"ACTIONS = {task.action_names!a}", "", ""]
    for node, body in writer.functions():
        is_top = node == policy.tree.root
        lines.append("def act(observation):" if is_top else f"def _from_{node}({writer.arguments}):")
        if is_top:
            returns = "an action's number" if task.action == "discrete" else "a list with a number for each of ACTIONS"
            lines.append(f'    """What to do on an observation, a number for each of FEATURES: {returns}."""')
            if task.observation == "one-hot":
                lines[-1] = f'    """What to do on an observation, which is a whole number: {returns}."""'
                start, n = task.observation_start, task.n_observed
                lines.append(f"    x = [1.0 if observation - {start} == place else 0.0 for place in range({n})]")
            else:
                lines.append("    x = [float(value) for value in observation]")
            lines += writer.derivations()
        lines += [*body, "", ""]
    return "\n".join(lines).rstrip() + "\n"


class _Python(Source):
    @property
    def arguments(self) -> str:
        """What a function below the top is given."""
        return "x, y" if self.needed else "x"

    def derivations(self) -> list[str]:
        """The statements that compute derived features."""
        found = self.formulas()
        return ["    y = []"] * bool(found) + [f"    y.append({text})  # {remark}" for text, remark in found]

    def number(self, value: float) -> str:
        return repr(value + 0.0)

    def branch(self, test: str, split: int) -> tuple[str, str, str]:
        return f"if {test}:  # {self.remark(split)}", "else:", ""

    def go_on(self, split: int) -> str:
        return f"return _from_{split}({self.arguments})"

    def act(self, formula: Formula, leaf: int) -> list[str]:  # noqa: ARG002
        kind = self.task.action
        sums = [self.sum(total) for total in formula.sums]
        if formula.is_constant:
            values = [repr(whole(kind, total.constant)) for total in formula.sums]
            return [f"return {values[0]}" if kind == "discrete" else f"return [{', '.join(values)}]"]
        if formula.choices is not None:
            rows = [[repr(whole(kind, v)) for v in choice] for choice in formula.choices]
            choices = [row[0] if kind == "discrete" else f"[{', '.join(row)}]" for row in rows]
            scores = f"scores = [{', '.join(sums)}]"
            return [scores, f"return [{', '.join(choices)}][scores.index(max(scores))]"]
        if formula.low is not None and formula.high is not None:
            bounds = zip(sums, formula.low, formula.high, strict=True)
            sums = [f"min(max({text}, {low!r}), {high!r})" for text, low, high in bounds]
        return [f"return [{', '.join(sums)}]"]
