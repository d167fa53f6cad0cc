"""Load a policy and use it where neither numba nor Gymnasium is installed.

`sirl.model` needs NumPy and msgspec alone. A model file is JSON: this one is a tree that the paper prints.
"""

import sys

import sirl.model

policy = sirl.model.load("paper:LunarLander")  # or sirl.model.load("runs/…/champion.json")
print(policy)
action, _ = policy.predict([0.0, 1.4, 0.0, -0.5, 0.1, 0.0, 0.0, 0.0])
print(f"falling, and tilted a little: {policy.task.action_names[action]}")

policy.save("lander.json")
assert sirl.model.load("lander.json").to_json() == policy.to_json()
assert not {"numba", "gymnasium", "mujoco"} & set(sys.modules)
