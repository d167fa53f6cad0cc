"""The zoo: every policy loads, is as large as its card says, and plays as well."""

from __future__ import annotations

import shlex

import pytest

import sirl
from sirl.errors import SirlError
from sirl.search.front import n_numbers
from sirl.zoo import cards


@pytest.mark.parametrize("name", cards())
def test_a_policy_of_the_zoo_plays_as_its_card_says(name):
    card, policy = cards()[name], sirl.load(f"zoo:{name}")
    assert policy.task.env == card.env
    assert (policy.tree.n_leaves, n_numbers(policy.tree)) == (card.leaves, card.size)
    assert policy.tree.n_leaves <= 8
    episodes = 30
    score = sirl.evaluate(policy, episodes=episodes, workers=1)
    assert abs(score.mean - card.score) <= 4 * card.std / episodes**0.5 + 1e-9, "four standard errors"
    assert shlex.split(card.command)[:3] == ["sirl", "train", card.env]


def test_the_zoo_is_listed(sirl_command):
    listed = sirl_command("zoo").out
    assert all(f"zoo:{name} " in listed for name in cards())


def test_a_policy_that_the_zoo_does_not_have_is_told():
    with pytest.raises(SirlError, match=r"^the zoo has no policy for 'Reachr'; did you mean 'Reacher'\?$"):
        sirl.load("zoo:Reachr")
