"""Results are the program's, to the byte, in each of their forms."""

import datetime
import json
import subprocess
import sys

import nanoarrow
import pandas as pd
import pyarrow as pa
import pytest
from conftest import CASE, DECISIONS, WITH_SWITCHES

import wakelab

FLAGS = [
    "--machine=test-8c",
    "--kernel=v6.12",
    "--workload=netperf:TCP_RR",
    "--load=4",
    "--settle=5ms",
    "--time=10ms",
    "--format=json",
]


@pytest.fixture
def compared():
    return wakelab.compare(**CASE, base="SIS_UTIL", with_="NO_SIS_UTIL", repeats=2)


def test_a_comparison_is_the_programs(compared, program):
    assert isinstance(compared, wakelab.Comparison)
    assert compared.json == program("compare", *FLAGS, "--base=SIS_UTIL", "--with=NO_SIS_UTIL", "--repeat=2")


def test_a_matrix_is_the_programs(program):
    found = wakelab.compare(
        **CASE | {"machine": ["test-2c", "test-8c"]},
        with_={"all": {"SIS_UTIL": False}, "prop": {"SIS_PROP": True}},
        repeats=1,
    )
    assert isinstance(found, wakelab.Matrix)
    sides = ["--base=", "--with=all=NO_SIS_UTIL", "--with=prop=SIS_PROP", "--repeat=1"]
    assert found.json == program("compare", "--machine=test-2c", *FLAGS, *sides)
    assert list(found.verdicts) == ["all", "prop"]
    assert {(row["machine"], row["variant"]) for row in found} == {
        (machine, variant) for machine in ("test-2c", "test-8c") for variant in ("all", "prop")
    }
    assert found.html is not None


def test_an_experiment_is_the_programs(program, tmp_path):
    experiment = {
        "machine": "test-8c",
        "kernel": "v6.12",
        "repeats": 1,
        "settle": "5ms",
        "time": "10ms",
        "workload": [{"name": "netperf:TCP_RR", "load": "4"}],
        "variants": {"base": "SIS_UTIL", "with": "NO_SIS_UTIL"},
    }
    found = wakelab.run(experiment)
    path = tmp_path / "experiment.toml"
    text = """
machine = "test-8c"
kernel = "v6.12"
repeats = 1
settle = "5ms"
time = "10ms"
workload = [{ name = "netperf:TCP_RR", load = "4" }]
variants = { base = "SIS_UTIL", with = "NO_SIS_UTIL" }
"""
    path.write_text(text)
    assert found.json == program("run", path, "--format=json") == wakelab.run(text).json == wakelab.run(path).json


def test_a_score_is_that_of_the_program(program, tmp_path):
    rung = {"settle": "5ms", "time": "5ms", "repeats": 2}
    workload = [{"name": "netperf:TCP_RR", "load": "4,12"}]
    panel = {
        "name": "small",
        "base": "NO_SIS_UTIL,SIS_PROP",
        "fast": rung,
        "part": [{"machine": "test-8c", "kernel": "v6.12", "workload": workload, "weight": 2}],
    }
    found = wakelab.score(panel, with_={"SIS_UTIL": True}, rung="fast")
    path = tmp_path / "panel.toml"
    path.write_text(
        """
name = "small"
base = "NO_SIS_UTIL,SIS_PROP"
fast = { settle = "5ms", time = "5ms", repeats = 2 }

[[part]]
machine = "test-8c"
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "4,12" }]
weight = 2
"""
    )
    args = ["score", path, "--with=SIS_UTIL", "--rung=fast"]
    assert found.json == program(*args, "--format=json")
    assert f"{float(found):.4f}\n" == program(*args, "--quiet")
    assert (found.gave_up, len(found), found.rows[0]["weight"]) == (False, 2, 2)
    assert found.probability_better is not None
    assert 0 <= found.probability_better <= 1
    with pytest.raises(wakelab.InputError, match="no part of the panel is held out"):
        wakelab.score(panel, with_="SIS_UTIL", rung="fast", held_out=True)


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (lambda: wakelab.explain(DECISIONS, limit=5), ["explain", DECISIONS, "--limit=5"]),
        (lambda: wakelab.explain(DECISIONS, summary=True), ["explain", DECISIONS, "--summary"]),
        (lambda: wakelab.explain(DECISIONS, at=27), ["explain", DECISIONS, "--at=27"]),
        (lambda: wakelab.conform(DECISIONS), ["conform", DECISIONS]),
        (lambda: wakelab.replay(DECISIONS, with_={"SIS_UTIL": False}), ["replay", DECISIONS, "--with=NO_SIS_UTIL"]),
        (lambda: wakelab.stats(WITH_SWITCHES, by=["comm", "cpu"]), ["stats", WITH_SWITCHES, "--by=comm,cpu"]),
        (
            lambda: wakelab.whatif(
                WITH_SWITCHES,
                machine="test-8c",
                with_="NO_SIS_PROP",
                time="10ms",
                settle="10ms",
                repeats=1,
                anyway=True,
            ),
            [
                "whatif",
                WITH_SWITCHES,
                "--machine=test-8c",
                "--with=NO_SIS_PROP",
                "--time=10ms",
                "--settle=10ms",
                "--repeat=1",
                "--anyway",
            ],
        ),
        (wakelab.machines, ["list", "machines"]),
        (wakelab.kernels, ["list", "kernels"]),
        (wakelab.workloads, ["list", "workloads"]),
        (wakelab.features, ["list", "features"]),
        (wakelab.experiments, ["list", "experiments"]),
        (wakelab.panels, ["list", "panels"]),
        (wakelab.sweeps, ["list", "sweeps"]),
    ],
)
@pytest.mark.filterwarnings("ignore::wakelab.Warning")
def test_other_results_are_the_programs(call, args, program):
    found = call()
    assert found.json == program(*args, "--format=json")
    assert len(found) > 0
    assert len(found.table()) == len(found)
    assert list(found.to_pandas().columns) == found.table().column_names
    if found.to_arrow().num_columns:
        assert found.to_arrow().num_rows == len(found.rows)
    assert found._repr_html_()
    repr(found)


def test_policies_are_the_programs(program):
    # In a process that has no policy of its own.
    text = "import sys, wakelab; sys.stdout.write(wakelab.policies().json)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == program("list", "policies", "--format=json")


def test_the_verdict_is_that_of_the_json(compared):
    verdict = compared.to_dict()["verdict"]
    assert compared.verdict.text == verdict["text"] == str(compared.verdict)
    assert compared.verdict.lines == tuple(verdict["lines"])
    assert compared.verdict.kind in ("better", "worse", "same", "identical")
    with pytest.warns(wakelab.Warning, match="both do the same"):
        same = wakelab.compare(**CASE, base="SIS_UTIL", with_="SIS_UTIL", repeats=2)
    assert same.verdict.kind == "identical"
    one = wakelab.compare(**CASE, base="SIS_UTIL", with_="NO_SIS_UTIL,NO_TTWU_QUEUE", repeats=1)
    assert one.verdict.kind in ("untested", "identical")


def test_rows_become_tables(compared):
    row = compared.rows[0]
    frame = compared.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame["base.mean"][0] == row["base"]["mean"]
    assert frame["base.values"][0] == row["base"]["values"]
    arrow = compared.to_arrow()
    assert isinstance(arrow, pa.Table)
    assert arrow["base.mean"].to_pylist() == [row["base"]["mean"]]
    assert arrow["base.values"].to_pylist() == [row["base"]["values"]]
    assert arrow["base.features"].to_pylist() == [row["base"]["features"]]
    assert json.loads(arrow["base.states"].to_pylist()[0]) == row["base"]["states"]
    # Nothing but the interface is asked for.
    [read] = nanoarrow.ArrayStream(compared).read_all().to_pylist()
    assert read["with.mean"] == row["with"]["mean"]
    assert read["with.values"] == row["with"]["values"]


def test_arrows_memory_is_not_copied(compared):
    table = compared.table()
    first, second = pa.table(table), pa.table(table)
    buffers = [it["base.mean"].chunk(0).buffers()[1].address for it in (first, second)]
    assert buffers[0] == buffers[1]
    # It lives as long as anybody uses it.
    del table, second
    assert first["base.mean"].to_pylist() == [compared.rows[0]["base"]["mean"]]


def test_one_side_has_the_numbers_of_a_comparison(compared):
    found = wakelab.simulate(**CASE, base={"SIS_UTIL": True}, repeats=2)
    assert isinstance(found, wakelab.Simulation)
    base = compared.rows[0]["base"]
    assert {name: found.rows[0][name] for name in base} == base
    assert found.html is None
    assert "<table>" in found._repr_html_()


def test_events_of_a_run_are_read(tmp_path):
    wakelab.simulate(**CASE, events=tmp_path / "events")
    counted = wakelab.stats(tmp_path / "events")
    assert counted.rows[0]["wakeups"] > 0
    explained = wakelab.explain(tmp_path / "events", limit=3)
    assert len(explained) == 3
    assert str(explained).splitlines()[0] == explained.rows[0]["text"]
    equal = wakelab.conform(tmp_path / "events")
    assert equal.equal == equal.scored > 0


@pytest.mark.filterwarnings("ignore::wakelab.Warning")
def test_a_captured_load_is_a_workload(program, tmp_path):
    captured = wakelab.capture(WITH_SWITCHES, machine="test-8c", window="200ms")
    program("capture", WITH_SWITCHES, "--machine=test-8c", "--window=200ms", "--out", tmp_path / "captured.toml")
    assert captured.toml == (tmp_path / "captured.toml").read_text()
    assert captured.to_dict()["workload"]["benchmark"] == "captured"
    found = wakelab.simulate(**CASE | {"workload": captured, "load": 1})
    assert found.rows[0]["benchmark"] == "captured"


def test_machines_and_workloads_are_names_files_texts_and_dicts(tmp_path):
    import tomllib

    path = DECISIONS.parents[1] / "machines" / "test-8c.toml"
    text = path.read_text()
    forms = ["test-8c", path, str(path), text, tomllib.loads(text)]
    found = {wakelab.simulate(**CASE | {"machine": machine}).json for machine in forms}
    assert len(found) == 1

    text = """
[workload]
benchmark = "mine"
case = "ask"
metric = "throughput"
unit = "answers/s"
better = "higher"

[[program]]
name = "loop"
ops = ["begin", {run = "20us"}, {sleep = "10us"}, "done", {repeat = {to = 0}}]

[[task]]
name = "loop"
program = "loop"
"""
    path = tmp_path / "workload.toml"
    path.write_text(text)
    forms = [text, tomllib.loads(text)]
    found = {wakelab.simulate(**CASE | {"workload": workload}).json for workload in forms}
    assert len(found) == 1
    of_path = wakelab.simulate(**CASE | {"workload": path}).json
    assert of_path.replace(str(path), "workload.toml") == found.pop()


def test_times_may_be_timedeltas():
    case = CASE | {"time": datetime.timedelta(milliseconds=10), "settle": datetime.timedelta(milliseconds=5)}
    assert wakelab.simulate(**case).json == wakelab.simulate(**CASE).json


def test_pages_are_the_programs(compared, tmp_path):
    assert "<svg" in compared.html or "vega" in compared.html
    # The command as it can be typed, without the folders of temporary files.
    assert "<span>wakelab</span> <span>compare</span> <span>--with=NO_SIS_UTIL</span>" in compared.html
    assert "/tmp/wakelab-" not in compared.html
    compared.save_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == compared.html
    shown = compared._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;html" in shown


def test_a_page_of_a_file_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "recording.csv.gz"
    path.write_bytes(DECISIONS.read_bytes())
    topology = "topo-6.12-C.json"
    (tmp_path / topology).write_bytes((DECISIONS.parent / topology).read_bytes())
    counted = wakelab.stats(path)
    other = DECISIONS.parent / "6.12-C-fan.csv.gz"
    path.write_bytes(other.read_bytes())
    with pytest.raises(wakelab.Error, match="has changed since"):
        counted.html  # noqa: B018


def test_the_cache_is_used_and_can_be_left_out(tmp_path):
    sides = {"base": "SIS_UTIL", "with_": "NO_SIS_UTIL", "repeats": 1}
    first = wakelab.compare(**CASE, **sides, cache=tmp_path / "kept")
    again = wakelab.compare(**CASE, **sides, cache=tmp_path / "kept")
    none = wakelab.compare(**CASE, **sides, cache=False)
    assert first.json == again.json == none.json
    assert first.notes == none.notes == ()
    assert again.notes[0].startswith("2 of 2 runs from ")
