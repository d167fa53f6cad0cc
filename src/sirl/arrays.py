"""Names for the arrays that every room speaks of; their shapes stand where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
"""Splits by their number, leaves as ~leaf."""
Flags = NDArray[np.bool_]
Seeds = NDArray[np.int64]
"""Of episodes, 0 to 2**63 - 1."""
Actions = NDArray[Any]
"""As an environment takes them, (n, *action_shape) in its action's dtype."""
