"""Calls run beside other Python threads, are interrupted, and tell how far they are."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import CASE, DECISIONS

import wakelab

LONG = CASE | {"time": "3600s", "cache": False}


def test_other_threads_run_meanwhile():
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    wakelab.simulate(**CASE | {"time": "300ms", "cache": False})
    done.set()
    thread.join()
    # With the interpreter's lock held throughout there would be one or two.
    assert ticks > 5


def test_several_calls_run_at_a_time():
    loads = [1, 2, 3, 4]
    alone = [wakelab.simulate(**CASE | {"load": load, "cache": False}).json for load in loads]
    with ThreadPoolExecutor(len(loads)) as pool:
        together = list(pool.map(lambda load: wakelab.simulate(**CASE | {"load": load, "cache": False}).json, loads))
    assert together == alone


def test_progress_is_told():
    told = []
    wakelab.compare(
        **CASE | {"time": "200ms"},
        with_="NO_SIS_UTIL",
        repeats=3,
        jobs=1,
        cache=False,
        progress=lambda done, total, what: told.append((done, total, what)),
    )
    assert told
    assert {total for _, total, _ in told} == {6}
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)


def test_an_exception_of_progress_ends_the_call():
    class EnoughError(Exception):
        pass

    def enough(*_):
        raise EnoughError

    with pytest.raises(EnoughError):
        wakelab.compare(
            **CASE | {"time": "200ms"}, with_="NO_SIS_UTIL", repeats=30, jobs=1, cache=False, progress=enough
        )


def test_ctrl_c_is_a_keyboard_interrupt():
    # In a process of its own, so that a failure does not end the tests.
    text = f"""
    import signal, threading, time, os
    import wakelab
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wakelab.simulate(**{LONG!r})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    # A call after it is none of its business.
    print(len(wakelab.machines()) > 0, flush=True)
    """
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "interrupted\nTrue\n", done.stderr
    assert done.stderr == ""
    # The run would take hours.
    assert time.monotonic() - begin < 60


def test_signals_of_python_are_left_alone():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    wakelab.simulate(**CASE, cache=False)
    assert {number: signal.getsignal(number) for number in before} == before
    caught = []
    signal.signal(signal.SIGTERM, lambda number, _: caught.append(number))
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        wakelab.simulate(**CASE, cache=False)
    finally:
        signal.signal(signal.SIGTERM, before[signal.SIGTERM])
    assert caught == [signal.SIGTERM]


def test_a_forked_process_can_call(tmp_path):
    wakelab.stats(DECISIONS)
    text = f"""
    import os, sys
    import wakelab
    wakelab.stats({str(DECISIONS)!r})
    child = os.fork()
    if child == 0:
        os._exit(0 if len(wakelab.stats({str(DECISIONS)!r})) == 1 else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(text)], timeout=120).returncode == 0
