"""A rehearsal compiles all that trees need to play and learn, so that nothing of it is left when a run begins."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import sirl
from sirl.learning import deferred as catching_up
from sirl.rollout import compiled as episodes
from sirl.search import grammar
from sirl.learning import q_learning as kernels
from sirl.learning import voting
from sirl.rollout.warm_up import rehearse

def compiled():
    modules = (catching_up, episodes, grammar, kernels, voting)
    loops = [loop for module in modules for loop in vars(module).values() if hasattr(loop, "nopython_signatures")]
    return sorted({f"{loop.__name__}{signature}" for loop in loops for signature in loop.nopython_signatures})

run = sirl.Training(sys.argv[1], workers=1, **json.loads(sys.argv[2]))
with run._make_engine() as engine:
    rehearse(run.problem, engine)
rehearsed = compiled()
for _ in run.generations():
    pass
print(json.dumps([rehearsed, compiled()]))
"""
SMALL = {
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
    rehearsed, used = json.loads(output)
    assert rehearsed
    assert used == rehearsed
