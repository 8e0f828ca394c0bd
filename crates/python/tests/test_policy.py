"""A search policy in Python decides as one in Rust would."""

import pytest
from conftest import CASE

import wakelab

# So many that the LLC is searched.
BUSY = CASE | {"load": 16, "cache": False}


def test_a_policy_that_leaves_all_as_it_is_changes_nothing():
    searches = []

    @wakelab.policy
    def same(search):
        searches.append(search)

    found = wakelab.compare(**BUSY, base="", with_="SIS_PYTHON", repeats=1)
    assert found.verdict.kind == "identical"
    assert searches
    for search in searches:
        assert set(search.idle) <= set(search.cpus) <= set(range(8))
        assert {search.target, search.waker_cpu, search.prev_cpu} <= set(range(8))


@pytest.mark.parametrize("form", [lambda search: 0, lambda search: []])
def test_a_policy_decides(form):
    wakelab.policy(form)
    limited, decided = (
        wakelab.simulate(**BUSY, base=base).rows[0]["search"] for base in ("SIS_UTIL", "NO_SIS_UTIL,SIS_PYTHON")
    )
    assert decided["sis_scanned"] != limited["sis_scanned"]


def test_a_policy_is_as_the_kernels_own_limit():
    wakelab.policy(lambda search: None)
    unlimited = wakelab.simulate(**BUSY, base="NO_SIS_UTIL").rows[0]["search"]
    wakelab.policy(lambda search: len(search.cpus))
    assert wakelab.simulate(**BUSY, base="NO_SIS_UTIL,SIS_PYTHON").rows[0]["search"] == unlimited


def test_an_exception_of_a_policy_is_the_callers():
    @wakelab.policy
    def fails(search):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        wakelab.simulate(**BUSY, base="SIS_PYTHON")


@pytest.mark.parametrize("answer", ["all", -1, True, [99], 1.5])
def test_a_wrong_answer_is_refused(answer):
    wakelab.policy(lambda search: answer)
    with pytest.raises(ValueError, match="the number of CPUs to probe"):
        wakelab.simulate(**BUSY, base="SIS_PYTHON")


def test_what_cannot_be_called_is_refused():
    with pytest.raises(wakelab.InputError):
        wakelab.policy(3)
