"""The functions: each is a command of the program."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from . import _sweep, _wakelab
from ._arguments import Arguments, File, Load, Recordings, Side, Sides, Time
from ._errors import wrong
from ._results import (
    Call,
    Captured,
    Comparison,
    Conformance,
    Explanations,
    Listing,
    Matrix,
    Progress,
    Replay,
    Result,
    Score,
    Simulation,
    Stats,
    Summary,
    WhatIf,
)
from ._sweep import Sweep

#: Decides how a scan is made (`policy()`).
PolicyFunction: TypeAlias = "Callable[[_wakelab.Search], int | Sequence[int] | None]"
#: A folder, True for the usual one, or False to keep nothing.
Cache: TypeAlias = "bool | str | os.PathLike[str]"
#: How constants are varied; True for `latin-hypercube`.
Sensitivity: TypeAlias = "bool | Literal['latin-hypercube', 'one-at-a-time']"


def compare(
    *,
    machine: File | Sequence[File],
    kernel: str | Sequence[str] | None = None,
    workload: File | Captured | Sequence[File | Captured],
    load: Load | Mapping[str, Load] | None = None,
    base: Side = "",
    with_: Sides,
    repeats: int = 3,
    seed: int | None = None,
    time: Time | None = None,
    settle: Time | None = None,
    pinned: str | None = None,
    observer_cost: int = 0,
    until: float | None = None,
    max_repeat: int | None = None,
    control: bool = False,
    sensitivity: Sensitivity = False,
    budget: int | None = None,
    ensemble: int | None = None,
    regret: bool = False,
    lenient: bool = False,
    events: str | os.PathLike[str] | None = None,
    perfetto: str | os.PathLike[str] | None = None,
    yes: bool = False,
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Comparison | Matrix:
    """Simulates two sides of a kernel, or more, and compares them (`wakelab compare`).

    Args:
        machine: A name of `machines()`, the path of a machine's file, its text, or a dict of what is in it; or several.
        kernel: A name of `kernels()`, or several; a side may name its own (`kernel=v6.12`).
        workload: A name of `workloads()`, a path, the text or the contents of a workload's file or of one of rt-app, or
            what `capture()` returned; or several.
        load: Instances: 28, a share of the CPUs ("25%"), a range ("25%..200%/25%"), or a list of these. A dict has a
            load for each workload, in their order.
        base: The switches of the base side: "A,NO_B", or {"A": True, "B": False, "tunable": 3}.
        with_: The switches of the other side; a list of several sides, or a dict of dicts for sides with names.
        repeats: How often each case is run on each side. One run gives no interval.
        seed: The seed from which those of the runs are derived; 1 if left out.
        time: The simulated time that is measured, with its unit ("1s", "500ms"), or a timedelta.
        settle: The simulated time before that.
        pinned: The CPUs that the workloads are restricted to: "0-31", "node 0".
        observer_cost: What a tracer adds to each select_idle_cpu(), ns.
        until: Repeat until each 95% interval is within this many per cent.
        max_repeat: With `until`: repeat no more often than this.
        control: Also run the base against itself.
        sensitivity: Also vary all assumed constants.
        budget: The number of samples of `sensitivity`; 32 if left out.
        ensemble: The number of sets of a fitted machine; 0 for none, all if left out.
        regret: Compare each search with perfect knowledge.
        lenient: Let unknown parts of a file of rt-app pass, with a warning.
        events: A new folder for every event, as Parquet, which `stats()`, `explain()` and `capture()` read.
        perfetto: A new folder for traces.
        yes: Simulate a matrix of more than 1,000 runs.
        jobs: How many simulations run at a time; as many as there are cores if left out. The result is the same.
        cache: Where finished runs are kept.
        fresh: Make runs again that are kept.
        progress: Called with runs that are done, all of them, and the last one.

    Returns:
        A `Comparison`; a `Matrix` if there are several machines, kernels or sides.

    Raises:
        InputError: An argument or a file is wrong.
        RunError: A run failed.
    """
    arguments = Arguments("compare")
    arguments.sides("with", with_, "with_")
    _case(arguments, machine, kernel, workload, load, base)
    arguments.text("pinned", pinned)
    arguments.whole("observer-cost", observer_cost)
    arguments.time("time", time)
    arguments.time("settle", settle)
    _trust(arguments, until, max_repeat, control, sensitivity, budget, ensemble)
    arguments.flag("regret", regret)
    arguments.flag("lenient", lenient)
    arguments.flag("yes", yes)
    _runs(arguments, repeats, seed, events, perfetto, jobs, cache, fresh)
    return _compared(Call(arguments), progress)


def run(
    experiment: File,
    *,
    repeats: int | None = None,
    seed: int | None = None,
    until: float | None = None,
    max_repeat: int | None = None,
    control: bool = False,
    sensitivity: Sensitivity = False,
    budget: int | None = None,
    ensemble: int | None = None,
    regret: bool = False,
    lenient: bool = False,
    events: str | os.PathLike[str] | None = None,
    perfetto: str | os.PathLike[str] | None = None,
    yes: bool = False,
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Comparison | Matrix:
    """Simulates what an experiment compares (`wakelab run`).

    Args:
        experiment: A name of `experiments()`, the path of an experiment's file, its text, or a dict of what is in it.
        repeats: As in `compare()`; what the file says if left out.
        seed: As in `compare()`; what the file says if left out.
        until: As in `compare()`, per cent.
        max_repeat: As in `compare()`.
        control: As in `compare()`.
        sensitivity: As in `compare()`.
        budget: As in `compare()`.
        ensemble: As in `compare()`.
        regret: As in `compare()`.
        lenient: As in `compare()`.
        events: As in `compare()`.
        perfetto: As in `compare()`.
        yes: As in `compare()`.
        jobs: As in `compare()`.
        cache: As in `compare()`.
        fresh: As in `compare()`.
        progress: As in `compare()`.
    """
    arguments = Arguments("run")
    _trust(arguments, until, max_repeat, control, sensitivity, budget, ensemble)
    arguments.flag("regret", regret)
    arguments.flag("lenient", lenient)
    arguments.flag("yes", yes)
    _runs(arguments, repeats, seed, events, perfetto, jobs, cache, fresh)
    arguments.args.append(arguments.file("experiment", experiment, "experiment"))
    return _compared(Call(arguments), progress)


def simulate(
    *,
    machine: File,
    kernel: str,
    workload: File | Captured | Sequence[File | Captured],
    load: Load | Mapping[str, Load] | None = None,
    base: Side = "",
    repeats: int = 1,
    seed: int | None = None,
    time: Time | None = None,
    settle: Time | None = None,
    pinned: str | None = None,
    observer_cost: int = 0,
    regret: bool = False,
    lenient: bool = False,
    events: str | os.PathLike[str] | None = None,
    perfetto: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Simulation:
    """Simulates one side: what it measures, with nothing to compare it with.

    Args:
        machine: As in `compare()`.
        kernel: As in `compare()`.
        workload: As in `compare()`.
        load: As in `compare()`.
        base: The switches, on top of what the kernel has on.
        repeats: How often each case is run.
        seed: As in `compare()`.
        time: As in `compare()`.
        settle: As in `compare()`.
        pinned: As in `compare()`.
        observer_cost: As in `compare()`, ns.
        regret: As in `compare()`.
        lenient: As in `compare()`.
        events: A new folder for every event, as Parquet, which `stats()`, `explain()` and `capture()` read.
        perfetto: A new folder for traces.
        jobs: As in `compare()`.
        cache: As in `compare()`.
        fresh: As in `compare()`.
        progress: As in `compare()`.
    """
    arguments = Arguments("compare")
    arguments.flag("one-side", True)
    _case(arguments, machine, kernel, workload, load, base)
    arguments.text("pinned", pinned)
    arguments.whole("observer-cost", observer_cost)
    arguments.time("time", time)
    arguments.time("settle", settle)
    arguments.flag("regret", regret)
    arguments.flag("lenient", lenient)
    _runs(arguments, repeats, seed, events, perfetto, jobs, cache, fresh)
    return Call(arguments, has_page=False).run(Simulation, progress)


def explain(
    recording: Recordings,
    *,
    summary: bool = False,
    at: float | str | None = None,
    slowest: int | None = None,
    row: int | None = None,
    pid: int | None = None,
    comm: str | None = None,
    reason: str | None = None,
    limit: int | None = None,
    with_: Side | None = None,
    progress: Progress | None = None,
) -> Explanations | Summary:
    """Explains for each wake-up why its CPU was chosen (`wakelab explain`).

    Args:
        recording: Recordings, or folders of them, or the folder of a simulated run's events.
        summary: Count the reasons instead.
        at: Explain the first decision from this time on, s, as explanations show it. A text is exact to the ns.
        slowest: Explain this many, whose wakees waited longest.
        row: Explain only the row with this number.
        pid: Explain only wake-ups of or by this task.
        comm: Explain only wake-ups of or by tasks of this name.
        reason: Explain only decisions with this reason.
        limit: Stop after this many.
        with_: Decide with these features switched, on top of what was on.
        progress: Called with bytes that are read, all of them, and rows so far.

    Returns:
        `Explanations`; a `Summary` with `summary`.
    """
    arguments = Arguments("explain")
    arguments.flag("summary", summary)
    if isinstance(at, bool) or not isinstance(at, str | int | float | None):
        raise wrong("at", "a time in seconds", at)
    arguments.text("at", at if isinstance(at, str | None) else f"{at:.9f}")
    arguments.whole("slowest", slowest)
    arguments.whole("row", row)
    arguments.whole("pid", pid)
    arguments.text("comm", comm)
    arguments.text("reason", reason)
    arguments.whole("limit", limit)
    if with_ is not None:
        arguments.side("with", with_, "with_")
    arguments.positional("recording", recording)
    of: type[Explanations | Summary] = Summary if summary else Explanations
    return Call(arguments).run(of, progress)


def conform(
    recording: Recordings,
    *,
    with_: Side | None = None,
    disagreements: int | None = None,
    progress: Progress | None = None,
) -> Conformance:
    """Compares the model's choices with the kernel's (`wakelab conform`).

    Args:
        recording: Recordings, or folders of them, or the folder of a simulated run's events.
        with_: Decide with these features switched, on top of what was on.
        disagreements: Explain this many of the rows that differ; 20 if left out.
        progress: Called with bytes that are read, all of them, and rows so far.
    """
    arguments = Arguments("conform")
    if with_ is not None:
        arguments.side("with", with_, "with_")
    arguments.whole("disagreements", disagreements)
    arguments.positional("recording", recording)
    return Call(arguments).run(Conformance, progress)


def replay(
    recording: Recordings,
    *,
    with_: Side,
    assume: str | Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Makes recorded choices again with other features (`wakelab replay`).

    Args:
        recording: Recordings, or folders of them, or the folder of a simulated run's events.
        with_: The features to switch, on top of what was on.
        assume: Values that a recording lacks: "avg_idle=500us", or {"avg_idle": "500us"}.
        progress: Called with bytes that are read, all of them, and rows so far.
    """
    arguments = Arguments("replay")
    arguments.side("with", with_, "with_")
    if isinstance(assume, Mapping):
        assume = ",".join(f"{name}={value}" for name, value in assume.items())
    arguments.text("assume", assume)
    arguments.positional("recording", recording)
    return Call(arguments).run(Replay, progress)


def score(
    panel: File,
    *,
    with_: Side,
    rung: Literal["fast", "full"] = "full",
    held_out: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Score:
    """Gives a candidate one number on a panel of machines, kernels and loads (`wakelab score`).

    Args:
        panel: A name of `panels()`, the path of a panel's file, its text, or a dict of what is in it.
        with_: The candidate's switches, on top of each kernel's features: "A,NO_B", or {"A": True, "tunable": 3}.
        rung: Simulate the fast rung only, or the full one.
        held_out: Score the parts that are held out, and no others.
        seed: The seed from which those of all runs are derived; the panel's if left out.
        jobs: How many simulations run at a time; as many as there are cores if left out. The result is the same.
        cache: Where finished runs are kept.
        fresh: Make runs again that are kept.
        progress: Called with runs that are done, all of the rung, and the last one.

    Returns:
        A `Score`, which `float()` turns into the number, %.

    Raises:
        InputError: The panel or the candidate is wrong.
        RunError: A run failed.
    """
    arguments = Arguments("score")
    arguments.side("with", with_, "with_")
    arguments.text("rung", rung)
    arguments.flag("held-out", held_out)
    arguments.whole("seed", seed)
    _kept(arguments, jobs, cache, fresh)
    arguments.args.append(arguments.file("panel", panel, "panel"))
    return Call(arguments, has_page=False).run(Score, progress)


def sweep(
    space: File,
    *,
    out: str | os.PathLike[str],
    engine: str = "local",
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Makes the runs of a whole space of machines, kernels, workloads, loads and tunables (`wakelab sweep`).

    The results are files of Parquet in a folder, the same to the byte from each engine. A call that was interrupted
    or killed goes on where it was if it is made again.

    Args:
        space: A name of `sweeps()`, the path of a sweep's file, its text, or a dict of what is in it.
        out: The folder of the results: new, empty, or of the same sweep.
        engine: "local" for this machine, "ray" for a Ray cluster ($RAY_ADDRESS, or one that is started on this
            machine), "ray:HOST:PORT" or "ray://HOST:PORT" for one that runs elsewhere.
        jobs: How many simulations run at a time; as many as there are cores if left out. Of a cluster that runs, Ray
            decides.
        cache: Where finished runs are kept, besides the results. On a cluster they are not.
        fresh: Make runs again that are kept in the cache.
        progress: Called with runs that are done, all that were missing, and the last one; on a cluster with parts.

    Returns:
        A `Sweep`. Runs that failed are rows with an `error`.

    Raises:
        InputError: The space is wrong, or the folder is of another one.
        RunError: The workers of a cluster died again and again.
    """
    if progress is not None and not callable(progress):
        raise wrong("progress", "a callable", progress)
    arguments = Arguments("sweep")
    arguments.path("out", out)
    if not isinstance(engine, str) or not (engine in ("local", "ray") or engine.startswith("ray:")):
        raise wrong("engine", "'local', 'ray', 'ray:HOST:PORT' or 'ray://HOST:PORT'", engine)
    _kept(arguments, jobs, cache, fresh)
    arguments.args.append(arguments.file("space", space, "space"))
    folder = Path(os.fspath(out))
    if engine == "local":
        return _sweep.local(arguments, folder, progress)
    return _sweep.on_ray(arguments, folder, engine, jobs, progress)


def stats(recording: Recordings, *, by: str | Sequence[str] | None = None, progress: Progress | None = None) -> Stats:
    """Counts reasons, searches, waits and migrations (`wakelab stats`).

    Args:
        recording: Recordings, or folders of them, or the folder of a simulated run's events.
        by: Count by `comm`, `task`, `cpu` or `llc`, too; or several of these.
        progress: Called with bytes that are read, all of them, and rows so far.
    """
    arguments = Arguments("stats")
    arguments.texts("by", by)
    arguments.positional("recording", recording)
    return Call(arguments).run(Stats, progress)


def capture(
    recording: str | os.PathLike[str],
    *,
    machine: File | None = None,
    from_: Time | None = None,
    window: Time | None = None,
    exact: bool = False,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Captured:
    """Turns a recording into a workload (`wakelab capture`).

    Args:
        recording: A recording, an import, or the folder of one simulated run.
        machine: The machine that was recorded: a name, a path, a text or a dict. A simulated run names its own.
        from_: Begin this long after the first event, with a unit ("100ms").
        window: Capture what happens in this time; all up to the end if left out.
        exact: Keep the recorded steps, once, in place of a model.
        out: Also write the workload to this file.
        progress: Called with bytes that are read, all of them, and rows so far.
    """
    with tempfile.TemporaryDirectory(prefix="wakelab-") as folder:
        file = Path(folder) / "captured.toml"
        arguments = Arguments("capture")
        _captured(arguments, machine, from_, window)
        arguments.flag("exact", exact)
        arguments.positional("recording", recording)
        arguments.path("out", file if out is None else out)
        captured = Call(arguments, format=None, has_page=False).run(Captured, progress)
        captured.toml = (file if out is None else Path(out)).read_text(encoding="utf-8")
        return captured


def whatif(
    recording: str | os.PathLike[str],
    *,
    with_: Side | Sequence[Side] | None = None,
    to_kernel: str | None = None,
    to_machine: File | None = None,
    machine: File | None = None,
    kernel: str | None = None,
    from_: Time | None = None,
    window: Time | None = None,
    scale: float | None = None,
    repeats: int = 3,
    time: Time | None = None,
    settle: Time | None = None,
    anyway: bool = False,
    came_out: Recordings | None = None,
    jobs: int | None = None,
    cache: Cache = True,
    fresh: bool = False,
    progress: Progress | None = None,
) -> WhatIf:
    """Simulates a recorded load under another policy (`wakelab whatif`).

    Args:
        recording: A recording, an import, or the folder of one simulated run.
        with_: The switches, on top of what was on in the recording; a list for several sides.
        to_kernel: The kernel on which `with_` is tried; that of the recording if left out.
        to_machine: The machine on which `with_` is tried; the recorded one if left out.
        machine: The machine that was recorded. A simulated run names its own.
        kernel: The preset that stands for the recorded kernel; found by its release if left out.
        from_: Begin this long after the first event, with a unit ("100ms").
        window: Capture what happens in this time; all up to the end if left out.
        scale: Scale the captured load, on both sides; 1 if left out.
        repeats: How often each side is run.
        time: The simulated time that is measured, with its unit; "300ms" if left out.
        settle: The simulated time before that.
        anyway: Compare even if the captured load is not like the recording.
        came_out: Recordings that were made with each side later, to be shown beside the prediction.
        jobs: As in `compare()`.
        cache: As in `compare()`.
        fresh: As in `compare()`.
        progress: Called with bytes that are read or runs that are done, all of them, and what is being done.

    Raises:
        RunError: The captured load is not like the recording; the error's `json` says in which rows.
    """
    arguments = Arguments("whatif")
    _captured(arguments, machine, from_, window)
    if with_ is not None:
        arguments.sides("with", with_, "with_")
    arguments.text("to-kernel", to_kernel)
    if to_machine is not None:
        arguments.file_or_name("to-machine", to_machine)
    arguments.text("kernel", kernel)
    arguments.number("scale", scale)
    arguments.whole("repeat", repeats, "repeats")
    arguments.time("time", time)
    arguments.time("settle", settle)
    arguments.flag("anyway", anyway)
    if came_out is not None:
        for path in [came_out] if isinstance(came_out, str | os.PathLike) else came_out:
            arguments.path("came-out", path)
    _kept(arguments, jobs, cache, fresh)
    arguments.positional("recording", recording)
    return Call(arguments).run(WhatIf, progress)


def policy(function: PolicyFunction) -> PolicyFunction:
    """Lets a Python function decide how select_idle_cpu() scans, where `SIS_PYTHON` is on. For teaching: it is slow.

    A decorator. The function is called before each scan, and a later one takes the place of an earlier. It must return
    the same for the same search, because the simulator may ask again.

    Args:
        function: Gets a `Search`, and returns how many CPUs to probe (0 for no scan), a list of those to probe, or None
            for the scan of the kernel.
    """
    if not callable(function):
        raise wrong("function", "a callable", function)
    _wakelab.set_policy(function)
    return function


def machines() -> Listing:
    """The machines that the program describes, with how many CPUs, LLCs and nodes they have."""
    return _list("machines")


def kernels() -> Listing:
    """The kernels that are modelled, with their features and tunables."""
    return _list("kernels")


def workloads() -> Listing:
    """The workloads that are modelled, with what they measure."""
    return _list("workloads")


def features() -> Listing:
    """The features of kernels that are modelled."""
    return _list("features")


def policies() -> Listing:
    """The switches that decide how to search for an idle CPU."""
    return _list("policies")


def experiments() -> Listing:
    """The experiments that come with the program, for `run()`."""
    return _list("experiments")


def panels() -> Listing:
    """The panels that come with the program, for `score()`."""
    return _list("panels")


def sweeps() -> Listing:
    """The sweeps that come with the program, for `sweep()`."""
    return _list("sweeps")


def _list(what: str) -> Listing:
    return Call(Arguments("list", what), has_page=False).run(Listing)


def _compared(call: Call, progress: Progress | None) -> Comparison | Matrix:
    found = call.run(Result, progress)
    of = Matrix if "matrix" in found.to_dict() else Comparison
    return of(found.json, found.notes, call)


def _case(
    arguments: Arguments,
    machine: File | Sequence[File],
    kernel: str | Sequence[str] | None,
    workload: File | Captured | Sequence[File | Captured],
    load: Load | Mapping[str, Load] | None,
    base: Side,
) -> None:
    arguments.file_or_name("machine", machine)
    arguments.texts("kernel", kernel)
    arguments.file_or_name("workload", workload)
    arguments.loads(load)
    arguments.side("base", base)


def _trust(
    arguments: Arguments,
    until: float | None,
    max_repeat: int | None,
    control: bool,
    sensitivity: Sensitivity,
    budget: int | None,
    ensemble: int | None,
) -> None:
    arguments.number("until", until, "%")
    arguments.whole("max-repeat", max_repeat)
    arguments.flag("control", control)
    if isinstance(sensitivity, str):
        arguments.text("sensitivity", sensitivity)
    else:
        arguments.flag("sensitivity", sensitivity)
    if budget is not None and sensitivity is False:
        raise wrong("budget", "sensitivity=True as well, as nothing else uses it", budget)
    arguments.whole("budget", budget)
    arguments.whole("ensemble", ensemble)


def _runs(
    arguments: Arguments,
    repeats: int | None,
    seed: int | None,
    events: str | os.PathLike[str] | None,
    perfetto: str | os.PathLike[str] | None,
    jobs: int | None,
    cache: Cache,
    fresh: bool,
) -> None:
    arguments.whole("repeat", repeats, "repeats")
    arguments.whole("seed", seed)
    arguments.path("events", events)
    arguments.path("perfetto", perfetto)
    _kept(arguments, jobs, cache, fresh)


def _kept(arguments: Arguments, jobs: int | None, cache: Cache, fresh: bool) -> None:
    arguments.whole("jobs", jobs)
    if cache is False:
        arguments.flag("no-cache", True)
    elif cache is not True:
        arguments.path("cache", cache)
    if not (cache is False and fresh is True):
        arguments.flag("fresh", fresh)


def _captured(arguments: Arguments, machine: File | None, from_: Time | None, window: Time | None) -> None:
    if machine is not None:
        arguments.file_or_name("machine", machine)
    arguments.time("from", from_, "from_")
    arguments.time("window", window)
