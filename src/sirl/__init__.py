"""Reinforcement learning whose result a person can read."""

__version__ = "0.1.0"
