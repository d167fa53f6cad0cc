import gymnasium as gym
import numpy as np
import pytest

import plain
from sirl.config import Settings
from sirl.keys import Stream, root
from sirl.search.genome import first_population
from sirl.search.grammar import make_grammar, translate
from sirl.simulators.spaces import describe


def task(n_features=4, low=-np.inf, high=np.inf):
    env = gym.Env()
    env.observation_space = gym.spaces.Box(low, high, (n_features,))
    env.action_space = gym.spaces.Discrete(2)
    return describe(env, "Test-v0")


def population(settings, seed=0):
    return first_population(settings, root(seed, Stream.FIRST_GENOTYPES, 0))


def nested(forest, index):
    """A tree of a forest as the plain implementation writes it."""
    tree = forest.tree(index, None)

    def node(at):
        if at < 0:
            return plain.Leaf()
        yes, no = tree.children[at]
        return plain.Node(tree.weights[at].tolist(), float(tree.thresholds[at]), node(yes), node(no))

    return node(tree.root)


@pytest.mark.parametrize("run_out", ["invalid", "zeros"])
@pytest.mark.parametrize("n_features", [1, 4, 17])
@pytest.mark.parametrize("length", [30, 1000])
def test_oblique_trees_are_those_of_the_papers_algorithm(n_features, length, run_out):
    settings = Settings(population=60, genotype_length=length, codons_run_out=run_out)
    codons, grammar = population(settings), make_grammar(task(n_features), settings)
    forest, valid = translate(codons, grammar)
    zeros = run_out == "zeros"
    plain_trees = [plain.translate(row, n_features, grammar.constants[0], zeros) for row in codons.tolist()]
    assert valid.tolist() == [i for i, tree in enumerate(plain_trees) if tree is not None]
    for index, individual in enumerate(valid):
        assert nested(forest, index) == plain_trees[individual]


def test_orthogonal_trees_are_those_of_the_papers_algorithm():
    settings = Settings(population=60, genotype_length=100, grammar="orthogonal")
    codons, grammar = population(settings), make_grammar(task(3), settings)
    forest, valid = translate(codons, grammar)
    plain_trees = [plain.translate_orthogonal(row, grammar.constants) for row in codons.tolist()]
    assert valid.tolist() == [i for i, tree in enumerate(plain_trees) if tree is not None]
    assert 0 < len(valid) < 60
    for index, individual in enumerate(valid):
        assert nested(forest, index) == plain_trees[individual]


def test_constants_are_those_of_the_papers_table():
    constants = make_grammar(task(), Settings()).constants[0]
    assert len(constants) == 201
    np.testing.assert_array_equal(constants, [k / 10 for k in range(-100, 101)])


def test_orthogonal_constants_span_a_features_bounds_where_it_has_them():
    grammar = make_grammar(task(1, -0.07, 0.07), Settings(grammar="orthogonal"))
    assert grammar.constants[0, [0, -1]] == pytest.approx([-0.07, 0.07])
    grammar = make_grammar(task(1), Settings(grammar="orthogonal"))
    assert grammar.constants[0, [0, -1]] == pytest.approx([-10, 10])


def test_about_one_random_lunar_lander_genotype_in_seven_runs_out_of_codons():
    """As in the authors' earlier code for the same grammar."""
    settings = Settings(population=2000)
    _, valid = translate(population(settings), make_grammar(task(8), settings))
    assert 1 - len(valid) / 2000 == pytest.approx(0.14, abs=0.03)


def test_a_tree_with_too_many_leaves_is_invalid():
    settings = Settings(population=300)
    grammar = make_grammar(task(4), settings)
    whole, valid = translate(population(settings), grammar)
    leaves = np.diff(whole.first_leaf)
    few, still = translate(population(settings), grammar, max_leaves=5)
    assert still.tolist() == valid[leaves <= 5].tolist()
    assert 0 < few.n_trees < whole.n_trees
