"""A policy in other forms: source code that runs without sirl, drawings, data.

Names of features and actions come from anywhere, so every form writes them such that they are nothing but text.
"""

from __future__ import annotations

from collections.abc import Callable

from sirl.errors import SirlError, did_you_mean
from sirl.model.policy import Policy
from sirl.reading.export.c import write_c
from sirl.reading.export.data import write_json
from sirl.reading.export.drawings import write_dot, write_svg
from sirl.reading.export.latex import write_latex
from sirl.reading.export.onnx import write_onnx
from sirl.reading.export.python import write_python

FORMATS: dict[str, Callable[[Policy], bytes]] = {
    "python": lambda policy: write_python(policy).encode(),
    "c": lambda policy: write_c(policy).encode(),
    "c-float": lambda policy: write_c(policy, real="float").encode(),
    "dot": lambda policy: write_dot(policy).encode(),
    "svg": lambda policy: write_svg(policy).encode(),
    "latex": lambda policy: write_latex(policy).encode(),
    "json": lambda policy: write_json(policy).encode(),
    "onnx": write_onnx,
}
"""What writes a policy in each form."""


def export(policy: Policy, form: str) -> bytes:
    """A policy in another form, one of :data:`FORMATS`."""
    if form not in FORMATS:
        hint = did_you_mean(form, list(FORMATS)) or f"; choose from {', '.join(FORMATS)}."
        raise SirlError(f"there is no format {form!r}{hint}")
    return FORMATS[form](policy)
