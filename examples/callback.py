"""Follow a run from your own program, and stop it when you have seen enough.

`sirl.train` calls `on_generation` with each generation's record; `sirl.Training` is the same run in your own loop.
"""

import sirl

small = {"method": "sirl-lb", "population": 40, "individual_episodes": 2, "collaborative_iterations": 2, "workers": 1}

run = sirl.train(
    "CartPole-v1",
    generations=2,
    on_generation=lambda record: print(f"generation {record.generation + 1}: best {record.best:.1f}"),
    **small,
)

run = sirl.Training("CartPole-v1", seed=1, generations=50, **small)
for record in run.generations():
    champion = record.champion
    if champion is not None and champion.validation_score > 100:
        print(f"good enough after {record.episodes} episodes in the last generation")
        break
print(run.champion)
