"""A warm-up compiles all that trees need to play and learn, so that nothing of it is left when a run begins."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import sirl
from sirl.learning import deferred, q_learning, voting
from sirl.rollout import acting, slots
from sirl.rollout import compiled as loops_of_episodes
from sirl.search import grammar

def compiled():
    modules = (acting, deferred, loops_of_episodes, grammar, q_learning, slots, voting)
    loops = [loop for module in modules for loop in vars(module).values() if hasattr(loop, "nopython_signatures")]
    return sorted({f"{loop.__name__}{signature}" for loop in loops for signature in loop.nopython_signatures})

run = sirl.Training(sys.argv[1], workers=1, **json.loads(sys.argv[2]))
with run._make_engine() as engine:
    run.search.warm_up(engine)
warm = compiled()
for _ in run.generations():
    pass
print(json.dumps([warm, compiled()]))
"""
SMALL = {
    "method": "sirl-lb",
    "population": 6,
    "individual_episodes": 1,
    "collaborative_iterations": 2,
    "collaborative_copies": 2,
    "candidates": 2,
    "validation_episodes": 2,
    "max_steps": 30,
    "generations": 2,
}


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("InvertedPendulum-v4", {"learning_rate_rule": "1/visits"}),
        ("Reacher-v4", {"voting": "majority"}),
        ("CartPole-v1", {"grammar": "orthogonal"}),
    ],
)
def test_nothing_is_left_to_compile(env, settings):
    """In a process of its own, in which nothing else has been compiled."""
    command = [sys.executable, "-c", SCRIPT, env, json.dumps(SMALL | settings)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    warm, used = json.loads(output)
    assert warm
    assert used == warm
