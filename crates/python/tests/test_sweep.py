"""Sweeps: their folder, and that a Ray cluster makes the same bytes as this machine, whoever dies meanwhile."""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import psutil
import pytest

import wakelab

GRID = {
    "machine": "test-8c",
    "kernel": "v6.12",
    "sides": ["", "NO_SIS_UTIL"],
    "workload": [{"name": "netperf:TCP_RR", "load": "4,16"}],
    "tunables": {"migration_cost": [0, 500_000]},
}
SPACE = {"name": "small", "repeats": 2, "time": "10ms", "settle": "5ms", "runs_per_part": 3, "grid": [GRID]}
# 8 parts, each of which takes some tenths of a second.
SLOW = {"name": "slow", "repeats": 3, "time": "150ms", "settle": "50ms", "runs_per_part": 3, "grid": [GRID]}

# Ray warns of what it does to os.environ and of its own future.
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)


def contents(sweep):
    return {file.name: file.read_bytes() for file in sweep.files}


@pytest.fixture(scope="module")
def ray_works():
    """Skips a test where Ray starts no cluster; with WAKELAB_PYTHON=1 that is a failure."""
    options = "address='local', num_cpus=1, include_dashboard=False, object_store_memory=200_000_000"
    script = f"import ray; ray.init({options})"
    env = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    try:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=180, env=env)
        why = "" if done.returncode == 0 else done.stderr[-500:]
    except subprocess.TimeoutExpired:
        why = "it takes more than 180 s"
    if why and os.environ.get("WAKELAB_PYTHON") == "1":
        pytest.fail(f"Ray starts no cluster here: {why}")
    if why:
        pytest.skip(f"Ray starts no cluster here: {why}")


@pytest.fixture
def no_cluster(monkeypatch, ray_works):
    """A cluster of this machine is started for the call, and nothing is told to anybody."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The slow sweep as this machine makes it."""
    return wakelab.sweep(SLOW, out=tmp_path_factory.mktemp("slow") / "here", cache=False)


def test_a_sweep_is_a_folder_of_parquet(tmp_path, program):
    told = []
    made = wakelab.sweep(SPACE, out=tmp_path / "runs", cache=False, progress=lambda *done: told.append(done))
    assert (made.runs, made.points, made.failed, len(made.files)) == (16, 8, 0, 6)
    assert told[-1][:2] == (16, 16)
    frame = made.to_pandas()
    assert list(frame["run"]) == list(range(16))
    assert set(frame["tunable_migration_cost"]) == {0, 500_000}
    assert frame["error"].isna().all()
    one = wakelab.simulate(
        machine="test-8c", kernel="v6.12", workload="netperf:TCP_RR", load=16, time="10ms", settle="5ms",
        base="NO_SIS_UTIL,migration_cost=0", repeats=2, cache=False,
    )  # fmt: skip
    rows = frame[(frame.side == "NO_SIS_UTIL") & (frame.tunable_migration_cost == 0) & (frame.load == "16 threads")]
    assert list(rows["value"]) == one.rows[0]["values"]
    # The program's own, of the text that the dict became.
    program("sweep", tmp_path / "runs" / "sweep.toml", "--out", tmp_path / "again")
    for name, content in contents(made).items():
        assert len(content) == (tmp_path / "again" / name).stat().st_size


def test_a_cluster_makes_the_same_bytes(tmp_path, no_cluster):
    here = wakelab.sweep(SPACE, out=tmp_path / "here", cache=False)
    told = []
    there = wakelab.sweep(SPACE, out=tmp_path / "there", engine="ray", jobs=2, progress=lambda *done: told.append(done))
    assert contents(there) == contents(here)
    assert [done for done, *_ in told] == [1, 2, 3, 4, 5, 6]
    # Nothing is missing, so that no cluster is started.
    began = time.monotonic()
    wakelab.sweep(SPACE, out=tmp_path / "here", engine="ray")
    assert time.monotonic() - began < 60


def by_program(tmp_path, program, *options):
    """What the program writes with these options, what it prints, and what the package makes here."""
    space = tmp_path / "s.toml"
    made = wakelab.sweep(SPACE, out=tmp_path / "here", cache=False)
    space.write_bytes((tmp_path / "here" / "sweep.toml").read_bytes())
    said = program("sweep", space, "--out", tmp_path / "there", *options)
    there = {path.name: path.read_bytes() for path in (tmp_path / "there").glob("part-*")}
    return there, said, contents(made)


def test_the_program_leaves_a_cluster_to_the_package(tmp_path, no_cluster, program):
    there, said, here = by_program(tmp_path, program, "--engine", "ray", "--jobs", "2")
    assert said == f"16 runs of 8 points in {tmp_path / 'there'}\n"
    assert there == here


def test_a_worker_that_is_killed_costs_nothing(tmp_path, no_cluster, slow):
    killed = []

    def kill():
        # Ray names the process of a worker after what it runs.
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            for process in psutil.Process().children(recursive=True):
                try:
                    if process.cmdline()[:1] == ["ray::make_part"]:
                        process.kill()
                        killed.append(process.pid)
                        return
                except psutil.Error:
                    pass
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    there = wakelab.sweep(SLOW, out=tmp_path / "there", engine="ray", jobs=2)
    thread.join()
    assert killed
    assert contents(there) == contents(slow)
    assert not list(tmp_path.glob("there/.wakelab-*"))


@pytest.fixture
def cluster(no_cluster):
    """A cluster of two nodes with one CPU each, which is there before the call, and the second of them."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    node = {"num_cpus": 1, "object_store_memory": 100_000_000}
    both = cluster_utils.Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    second = both.add_node(**node)
    yield both, second
    both.shutdown()


def test_a_node_that_is_lost_costs_nothing(tmp_path, cluster, slow):
    both, second = cluster
    lost = []

    def lose(done, total, what):
        if not lost:
            lost.append(done)
            both.remove_node(second, allow_graceful=False)

    there = wakelab.sweep(SLOW, out=tmp_path / "there", engine=f"ray:{both.address}", progress=lose)
    # The call is told of the first part, and there are more to make.
    assert len(lost) == 1
    assert lost[0] < len(slow.files)
    assert contents(there) == contents(slow)


@pytest.fixture
def client_server(no_cluster, monkeypatch):
    """The address of the client server of a cluster that runs by itself, as `ray start` starts it."""
    # Its token would be written to the home folder.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    # On a busy machine the process that serves a client is not there within 30 s.
    monkeypatch.setenv("RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S", "300")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The path of a socket has to be short.
    folder = tempfile.mkdtemp(prefix="ray-")
    monkeypatch.setenv("RAY_TMPDIR", folder)
    options = ["--head", "--block", "--port=0", "--num-cpus=2", "--object-store-memory=100000000"]
    options += ["--include-dashboard=false", f"--ray-client-server-port={port}"]
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", *options]
    head = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        time.sleep(0.2)
    yield f"ray://127.0.0.1:{port}"
    for process in [*psutil.Process(head.pid).children(recursive=True), psutil.Process(head.pid)]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    head.wait()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_cluster_that_runs_elsewhere_makes_the_same_bytes(tmp_path, client_server, program):
    def patient(*arguments):
        # Ray starts a process for each client and gives it 30 s, which a busy machine may not have.
        for left in (2, 1, 0):
            try:
                return program(*arguments)
            except AssertionError as error:
                if left == 0 or "Starting Ray client server failed" not in str(error):
                    raise
        return None

    there, _, here = by_program(tmp_path, patient, "--engine", client_server)
    assert there == here
    # Beside it, the engine `ray` starts a cluster of its own.
    wakelab.sweep(SPACE, out=tmp_path / "own", engine="ray", jobs=1)


def test_a_driver_that_is_killed_is_continued(tmp_path, no_cluster, slow):
    script = f"""
        import wakelab
        wakelab.sweep({SLOW!r}, out={str(tmp_path / "there")!r}, engine="ray", jobs=2)
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("there/part-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    before = {path.name: path.stat().st_ino for path in tmp_path.glob("there/part-*")}
    assert 0 < len(before) < len(slow.files)
    there = wakelab.sweep(SLOW, out=tmp_path / "there", cache=False)
    assert contents(there) == contents(slow)
    after = {path.name: path.stat().st_ino for path in there.files}
    assert {name: after[name] for name in before} == before


def test_a_call_that_is_interrupted_is_continued(tmp_path, slow):

    def interrupt(done, total, what):
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wakelab.sweep(SLOW, out=tmp_path / "there", cache=False, jobs=1, progress=interrupt)
    # The thread of the call ends what it had begun, and then gives the folder back.
    with (tmp_path / "there" / "sweep.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    there = wakelab.sweep(SLOW, out=tmp_path / "there", cache=False)
    assert contents(there) == contents(slow)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"grid": [GRID | {"machine": "test-9c"}]}, "test-9c"),
        ({"grid": [GRID | {"tunables": {"migration_cots": [0]}}]}, "migration_cots"),
        ({"grid": [GRID | {"tunables": {"migration_cost": [float("nan")]}}]}, "finite"),
        ({"grid": [GRID | {"tunables": {"migration_cost": [-1]}}]}, "migration_cost"),
        ({"grid": [GRID | {"workload": [{"name": "netperf:TCP_RR", "load": "-4"}]}]}, "-4"),
        ({"grid": [GRID | {"tunables": {"migration_cost": {"from": 1, "to": 9_000_000}}}]}, "10000000 or fewer"),
        ({"grid": []}, "grid"),
        ({"repeats": 0}, "repeats"),
        ({"samples": 0}, "samples"),
    ],
)
def test_a_wrong_space_is_refused(tmp_path, change, expected):
    with pytest.raises(wakelab.InputError, match=expected):
        wakelab.sweep(SPACE | change, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_wrong_arguments_are_refused(tmp_path, no_cluster):
    with pytest.raises(wakelab.InputError, match=r"engine: expected 'local'"):
        wakelab.sweep(SPACE, out=tmp_path / "runs", engine="slurm")
    with pytest.raises(wakelab.InputError, match="progress"):
        wakelab.sweep(SPACE, out=tmp_path / "runs", progress=3)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(wakelab.InputError, match="it contains other files"):
        wakelab.sweep(SPACE, out=tmp_path)
    machine = tmp_path / "m.toml"
    machine.write_text("")
    with pytest.raises(wakelab.InputError):
        wakelab.sweep(SPACE | {"grid": [GRID | {"machine": str(machine)}]}, out=tmp_path / "runs", engine="ray")
    with pytest.raises(wakelab.InputError, match="no cluster answers"):
        wakelab.sweep(SPACE, out=tmp_path / "none", engine="ray:127.0.0.1:1")
