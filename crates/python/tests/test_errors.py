"""What is wrong is said, and where."""

import math

import pytest
from conftest import CASE, DECISIONS, WITH_SWITCHES

import wakelab

SIDES = {"base": "SIS_UTIL", "with_": "NO_SIS_UTIL", "repeats": 1}


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("machine", "nowhere", "there is no machine of that name"),
        ("machine", "", "a name, a path, a dict"),
        ("machine", {}, "the contents of a file"),
        ("machine", {"a": 1}, "unknown key"),
        ("machine", {"a": math.nan}, "finite numbers"),
        ("machine", {"a": None}, "TOML"),
        ("machine", 7, "a name, a path, a dict"),
        ("machine", [], "or several"),
        ("machine", "a = 1\n", "machine.toml:1: `a`: unknown key"),
        ("kernel", "v1.0", "v1.0"),
        ("kernel", 6.12, "a name, or several"),
        ("kernel", [True], "a text"),
        ("workload", "nothing:AT_ALL", "nothing:AT_ALL"),
        ("workload", b"bytes", "or several"),
        ("load", 0, "from 1"),
        ("load", -3, "from 1"),
        ("load", True, "found True"),
        ("load", math.nan, "found nan"),
        ("load", math.inf, "found inf"),
        ("load", 2.5, "found 2.5"),
        ("load", [], "found []"),
        ("load", "-3", "is not a load"),
        ("load", {}, "for each workload"),
        ("base", "NO_SUCH_FEATURE_AT_ALL", "unknown feature SUCH_FEATURE_AT_ALL"),
        ("base", {"SIS_UTIL": math.nan}, "nan"),
        ("base", {"NO_SIS_UTIL": True}, "'SIS_UTIL' with True or False"),
        ("base", ["SIS_UTIL"], "switches"),
        ("base", None, "switches"),
        ("with_", [], "or several"),
        ("with_", {"a": {}, "SIS_UTIL": True}, "not both"),
        ("with_", "NO_SIS_UTILL", "did you mean `SIS_UTIL`"),
        ("repeats", 0, "0"),
        ("repeats", -1, "not negative"),
        ("repeats", True, "found True"),
        ("repeats", 2.0, "found 2.0"),
        ("repeats", 10**9, "1000000000"),
        ("repeats", 10**30, "1000000000000000000000000000000"),
        ("seed", -1, "not negative"),
        ("seed", 2**64, "18446744073709551616"),
        ("time", 1, "'300ms'"),
        ("time", math.inf, "'300ms'"),
        ("time", "0s", "more than 0"),
        ("time", "soon", "soon"),
        ("settle", "-1s", "-1s"),
        ("until", math.nan, "found nan"),
        ("until", -1, "above 0"),
        ("jobs", 0, "0"),
        ("jobs", 10**6, "1000000"),
        ("observer_cost", -5, "not negative"),
        ("pinned", "9-10", "CPUs from 0 to 7"),
        ("pinned", 3, "a text"),
        ("control", 1, "True or False"),
        ("sensitivity", "guess", "guess"),
        ("budget", 4, "sensitivity"),
        ("progress", 3, "a callable"),
        ("cache", 3, "a path"),
        ("events", "a\0b", "a path"),
    ],
)
def test_arguments_of_a_comparison(argument, value, says):
    with pytest.raises(wakelab.InputError) as caught:
        wakelab.compare(**CASE | SIDES | {argument: value})
    assert isinstance(caught.value, ValueError)
    assert says in str(caught.value)
    assert caught.value.argument == argument
    assert argument in str(caught.value)
    assert "Usage" not in str(caught.value)
    assert "/tmp" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wakelab.stats("no-such-file"), "no-such-file"),
        (lambda: wakelab.stats([]), "recording: expected a path, or several, found []"),
        (lambda: wakelab.stats(3), "recording: expected"),
        (lambda: wakelab.stats(DECISIONS, by="colour"), "colour"),
        (lambda: wakelab.explain(DECISIONS, reason="luck"), "luck"),
        (lambda: wakelab.explain(DECISIONS, at=math.nan), "nan"),
        (lambda: wakelab.explain(DECISIONS, at=True), "a time in seconds"),
        (lambda: wakelab.explain(DECISIONS, limit=0), "limit"),
        (lambda: wakelab.explain(DECISIONS, row=1, slowest=2), "slowest"),
        (lambda: wakelab.replay(DECISIONS, with_="NOT_A_FEATURE"), "NOT_A_FEATURE"),
        (lambda: wakelab.capture(DECISIONS), "6.12-C-hb.csv.gz"),
        (lambda: wakelab.whatif(DECISIONS, with_="NO_SIS_UTIL"), "argument: machine"),
        (lambda: wakelab.whatif(DECISIONS, scale=-1.0), "scale"),
        (lambda: wakelab.run("no-such-experiment"), "no-such-experiment"),
    ],
)
def test_other_arguments(call, says):
    with pytest.raises(wakelab.InputError, match=r".") as caught:
        call()
    assert says in str(caught.value)


def test_an_error_has_the_next_step():
    with pytest.raises(wakelab.InputError) as caught:
        wakelab.simulate(**CASE | {"machine": "nowhere"})
    assert "\n  hint: `wakelab machine list` shows all" in str(caught.value)
    assert caught.value.argument == "machine"


def test_a_row_that_is_not_there_is_no_error():
    found = wakelab.explain(DECISIONS, row=10**9)
    assert len(found) == 0
    assert found
    assert found.notes[0].startswith("no row matches: ")
    assert found.table().column_names == []


def test_warnings_are_pythons():
    with pytest.warns(wakelab.Warning) as warned:
        wakelab.capture(WITH_SWITCHES, window="100ms")
    assert any("the recorded machine is not known" in str(warning.message) for warning in warned)


def test_nothing_is_printed(capfd):
    wakelab.compare(**CASE | SIDES)
    wakelab.compare(**CASE | SIDES)
    wakelab.explain(DECISIONS, limit=2)
    with pytest.raises(wakelab.Error):
        wakelab.simulate(**CASE | {"machine": "nowhere"})
    assert capfd.readouterr() == ("", "")
