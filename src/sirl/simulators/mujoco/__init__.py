"""MuJoCo's tasks inside compiled loops: rules, physics, and what both call by its address."""
