"""What the tests share: short runs, recordings of the repository, and the program."""

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
DECISIONS = REPOSITORY / "data" / "recordings" / "6.12-C-hb.csv.gz"
WITH_SWITCHES = REPOSITORY / "crates" / "cli" / "tests" / "data" / "sis-prop-6.1"

CASE = {
    "machine": "test-8c",
    "kernel": "v6.12",
    "workload": "netperf:TCP_RR",
    "load": 4,
    "settle": "5ms",
    "time": "10ms",
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def program():
    """Runs the program, and returns its stdout."""
    path = os.environ.get("WAKELAB")
    if path is None:
        pytest.fail(
            "WAKELAB: expected the path of the program that was built of the same sources; ./test python sets it"
        )

    def run(*args):
        done = subprocess.run([path, *map(str, args)], capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr.decode()
        return done.stdout.decode()

    return run
