"""Many trees in flat arrays: how they walk, learn and vote."""
