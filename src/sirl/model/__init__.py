"""A policy and all that a person needs to read one: no numba and no Gymnasium, since a policy ships to small places."""

from sirl.model.policy import Policy, load

__all__ = ["Policy", "load"]
