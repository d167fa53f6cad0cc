import pytest

from sirl.deep.grid import check_memory, make_grid, parse_axis
from sirl.deep.settings import make_settings
from sirl.errors import SirlError


def test_the_papers_grid_has_32_networks():
    grid = make_grid()
    assert len(set(grid)) == 32
    assert {point.hidden for point in grid} == {(8,), (16,), (8, 8, 8), (16, 16, 16)}


def test_architectures_take_the_place_of_layers_and_units():
    grid = make_grid(dict([parse_axis("architecture=64x32,128"), parse_axis("learning_rate=0.01")]))
    assert {point.hidden for point in grid} == {(64, 32), (128,)}
    assert {point.learning_rate for point in grid} == {0.01}
    assert len(grid) == 8


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({"unit": [8]}, "a grid has no axis 'unit'; did you mean 'units'?"),
        ({"zzz": [8]}, "choose from learning_rate,"),
        ({"units": []}, "the grid's axis units is []: give a list of at least one value."),
        ({"units": 8}, "give a list"),
        ({"units": [8, 8]}, "has a value twice"),
        ({"units": [0]}, "units = 0 is not allowed"),
        ({"learning_rate": ["fast"]}, "learning_rate = 'fast' is not allowed: give a number"),
        ({"learning_rate": [float("nan")]}, "learning_rate = nan is not allowed"),
        ({"architecture": ["64y32"]}, "give widths of layers, such as 64x32."),
        ({"architecture": ["64"], "units": [8]}, "architecture besides layers or units"),
        ({"units": list(range(1, 2000)), "layers": list(range(1, 100))}, "the grid has 1,583,208 points"),
    ],
)
def test_a_bad_grid(axes, reason):
    with pytest.raises(SirlError) as error:
        make_grid(axes)
    assert reason in str(error.value)
    assert str(error.value).endswith((".", "?"))


def test_a_grid_too_large_for_memory_says_its_size_first():
    points = make_grid({"units": [100_000], "layers": [3]})
    with pytest.raises(SirlError, match=r"^8 networks and 1 replays of 50,000 transitions need \d{4}\.\d GB, and this"):
        check_memory(points, 4, 2, 50_000, 1)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"votting": "random"}, "there is no setting 'votting'; did you mean 'voting'?"),
        ({"voting": "mayority"}, "voting = 'mayority' is not allowed"),
        ({"epsilon": 2}, "epsilon = 2 is not allowed"),
        ({"learning_starts": 100, "replay_size": 50}, "is never reached"),
        ({"rounds": 10, "collaborative_episodes": 5}, "use fewer rounds"),
    ],
)
def test_a_bad_setting(settings, reason):
    with pytest.raises(SirlError) as error:
        make_settings(**settings)
    assert reason in str(error.value)
