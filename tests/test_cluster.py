"""The engine of a real Ray cluster on this machine, of several nodes that may die."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

import sirl
from sirl.engine.cluster import RayCluster
from sirl.errors import EnvironmentFailure
from sirl.runs.campaign import Job, train_all

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
)

SMALL = {
    "method": "sirl-lb",
    "population": 20,
    "generations": 2,
    "individual_episodes": 1,
    "collaborative_copies": 3,
    "collaborative_iterations": 2,
    "candidates": 2,
    "validation_episodes": 2,
}


@pytest.fixture(scope="module")
def cluster():
    """A head that runs nothing, and two nodes of one CPU each."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


class Context:
    """Counts what it has served."""

    def __init__(self):
        self.served = 0


def double(context, item):
    context.served += 1
    return 2 * item, context.served


def fail(context, item):
    if item >= 2:
        raise EnvironmentFailure(f"item {item} failed", "where")
    return item


def die_once(context, path):
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def test_results_come_in_the_order_of_the_items_and_contexts_are_kept(cluster):
    with RayCluster(Context) as engine:
        assert engine.workers == 2
        results = engine.map(double, range(12))
    assert [value for value, _ in results] == list(range(0, 24, 2))
    assert max(served for _, served in results) > 1


def test_the_first_failure_is_raised_as_it_was(cluster):
    with RayCluster(Context) as engine, pytest.raises(EnvironmentFailure, match="item 2 failed") as failure:
        engine.map(fail, range(5))
    assert failure.value.details == "where"


def test_an_item_whose_worker_is_killed_runs_again(cluster, tmp_path):
    with RayCluster(Context) as engine:
        assert engine.map(die_once, [str(tmp_path / "died")]) == ["done"]


def hang(context, item):
    if item == 1:
        time.sleep(1000)
    return item


def test_an_item_that_hangs_is_ended_and_tells_where(cluster):
    """Its time starts when it does: waiting for a worker is no hanging."""
    with RayCluster(Context, timeout=5.0) as engine:
        with pytest.raises(EnvironmentFailure, match=r"item 1 .* 5 seconds.*--hang-limit") as failure:
            engine.map(hang, range(3))
        assert "in hang" in failure.value.details
        assert engine.map(double, [4])[0][0] == 8


def test_a_run_on_the_cluster_has_the_bits_of_a_run_here_even_if_a_node_dies(cluster):
    here = sirl.train("CartPole-v1", workers=1, **SMALL)
    nodes = []

    def kill_a_node(record):
        if not nodes:
            nodes.append(cluster.add_node(num_cpus=1))
            cluster.remove_node(nodes[0], allow_graceful=False)

    there = sirl.train("CartPole-v1", engine="ray", on_generation=kill_a_node, **SMALL)
    assert there.champion.to_json() == here.champion.to_json()


@pytest.mark.usefixtures("cluster")
def test_whole_runs_spread_over_the_cluster(tmp_path):
    jobs = [Job("InvertedPendulum-v4", seed, str(tmp_path / str(seed)), SMALL) for seed in range(3)]
    found = train_all(jobs, episodes=2, engine="ray")
    for seed, run in enumerate(found):
        alone = sirl.train("InvertedPendulum-v4", seed=seed, workers=1, **SMALL)
        assert run.champion.to_json() == alone.champion.to_json()


def test_an_address_where_nobody_listens_is_told_at_once():
    with socket.socket() as taken:  # and so nobody else listens there
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code = f"from sirl.engine.cluster import _connect; _connect({address!r})"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert f"no Ray cluster answers at '{address}' (Connection refused): start one with `ray start" in run.stderr


def test_nothing_in_the_working_directory_runs_on_the_cluster(tmp_path):
    for name in ("cloudpickle", "msgspec", "numpy"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    code = (
        "import os; from sirl.engine.cluster import RayCluster; "
        "print(RayCluster(dict).map(lambda _, item: (os.getcwd(), item), [7]))"
    )
    command = [sys.executable, "-P", "-c", code]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.stdout.splitlines()[-1:] == [f"[({str(tmp_path)!r}, 7)]"], run.stderr
    assert not (tmp_path / "ran").exists()
