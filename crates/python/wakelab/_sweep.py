"""Sweeps: the runs of a whole space, on this machine or on a Ray cluster, as a folder of Parquet."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arguments import Arguments
from ._errors import Error, InputError, RunError
from ._results import Call, Progress, Result

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# Tasks that a cluster has for each of its CPUs: one that runs, and one that waits, so that no CPU waits for the driver.
_AHEAD = 2
# How often Ray makes a part again whose worker died.
_RETRIES = 5
# How long the driver waits for a part before it looks how many CPUs the cluster has now, seconds.
_LOOK = 5.0
# What a cluster of this machine keeps in shared memory, bytes: the sweep's files, and some parts.
_STORE = 200_000_000
# How long a cluster may take to answer, seconds.
_ANSWERS = 20.0


class Sweep:
    """The runs of a sweep: a folder of Parquet with a row for each.

    Attributes:
        path: The folder.
        runs: The number of runs.
        points: The number of points: runs that differ by more than their seed.
        failed: The runs that failed; the column `error` says why.
    """

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self.path = path
        self.runs = int(plan["runs"])
        self.points = int(plan["points"])
        self.failed = int(plan["failed"])

    @property
    def files(self) -> list[Path]:
        """The files, in the order of their runs."""
        return sorted(self.path.glob("part-*.parquet"))

    def to_arrow(self) -> pa.Table:
        """All rows as a table of pyarrow, which must be installed (`pip install wakelab[arrow]`)."""
        import pyarrow
        import pyarrow.parquet

        return pyarrow.concat_tables([pyarrow.parquet.read_table(file) for file in self.files])

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a data frame of pandas, which also needs pyarrow (`pip install wakelab[pandas,arrow]`)."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __len__(self) -> int:
        return self.runs

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<wakelab.Sweep: {self.runs} runs of {self.points} points in {self.path}>"


def local(arguments: Arguments, out: Path, progress: Progress | None) -> Sweep:
    """Runs the sweep on this machine."""
    Call(arguments, format=None, has_page=False).run(Result, progress)
    return Sweep(out, plan_of(arguments, out))


def plan_of(arguments: Arguments, out: Path, quiet: bool = True) -> dict[str, Any]:
    """The plan of the sweep, with the parts that are missing in the folder. Makes the folder."""
    args = ["sweep", "--plan", f"--out={out}", arguments.args[-1]]
    text, _ = Call(arguments, format=None, has_page=False).raw(args, None, quiet)
    plan: dict[str, Any] = json.loads(text)
    return plan


def make_part(version: str, files: dict[str, bytes], sweep: str, part: int) -> bytes:
    """Makes one part, anywhere.

    Args:
        version: The driver's version of wakelab.
        files: The sweep, and the files that it names, by the path that each has on the driver.
        sweep: The path of the sweep there.
        part: The number of the part.
    """
    own = importlib.metadata.version("wakelab")
    if own != version:
        raise InputError(
            f"engine: a worker has wakelab {own}, and the driver {version}; expected one version", "engine"
        )
    with tempfile.TemporaryDirectory(prefix="wakelab-") as folder:
        # The same tree below another root, so that relative paths hold.
        for path, content in files.items():
            placed = Path(folder + path)
            placed.parent.mkdir(parents=True, exist_ok=True)
            placed.write_bytes(content)
        call = Call(
            Arguments("sweep", f"--part={part}", "--jobs=1", "--no-cache", folder + sweep), None, has_page=False
        )
        content, _ = call.raw(call.args, None, quiet=True)
        return content


def on_ray(arguments: Arguments, out: Path, engine: str, jobs: int | None, progress: Progress | None) -> Sweep:
    """Makes the runs as tasks of a Ray cluster, and writes each part when it is there."""
    try:
        import ray
    except ImportError:
        raise InputError("engine: Ray is not installed\n  hint: pip install wakelab[ray]", "engine") from None
    plan = plan_of(arguments, out, quiet=False)
    with _held(out):
        plan = plan_of(arguments, out)
        # Not resolved: a file beside a link is found from where the link is. A name of the program's own has no file.
        name = arguments.args[-1]
        sweep = os.path.abspath(name if name.endswith(".toml") else f"{name}.toml")
        files = {sweep: plan["text"].encode()}
        if plan["absolute"]:
            raise InputError(
                f"engine: {plan['absolute'][0]} is an absolute path, which workers of a cluster do not have"
                "\n  hint: name it relative to the file of the sweep",
                "engine",
            )
        for name in plan["files"]:
            path = Path(os.path.abspath(name))
            files[str(path)] = path.read_bytes()
        if plan["missing"]:
            with _cluster(ray, engine, jobs):
                _make(ray, plan, files, sweep, out, progress)
        return Sweep(out, plan_of(arguments, out))


def _make(
    ray: Any, plan: dict[str, Any], files: dict[str, bytes], sweep: str, out: Path, progress: Progress | None
) -> None:
    missing = list(plan["missing"])
    total = len(missing)
    # Once, and not with each task.
    shared = ray.put(files)
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(make_part)
    pending: dict[Any, int] = {}
    done = 0
    try:
        while missing or pending:
            ahead = max(1, int(_AHEAD * ray.cluster_resources().get("CPU", 1)))
            while missing and len(pending) < ahead:
                part = missing.pop(0)
                pending[task.remote(plan["wakelab"], shared, sweep, part)] = part
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=_LOOK)
            for of_part in ready:
                part = pending.pop(of_part)
                try:
                    content = ray.get(of_part)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Error) else RunError(f"part {part}: {error}") from None
                except ray.exceptions.RayError as error:
                    raise RunError(
                        f"part {part}: its workers died {_RETRIES + 1} times: {error}\n"
                        "  hint: the same call continues with the missing parts",
                    ) from None
                _write(out / f"part-{part:06}.parquet", content)
                done += 1
                if progress is not None:
                    progress(done, total, f"part {part}")
    finally:
        for of_part in pending:
            with contextlib.suppress(Exception):
                ray.cancel(of_part, force=True)


def _write(path: Path, content: bytes) -> None:
    """Writes a file that appears when it is whole."""
    begun = path.with_name(f".wakelab-{path.name}")
    with begun.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    begun.replace(path)


@contextlib.contextmanager
def _held(out: Path) -> Iterator[None]:
    """Holds the folder against other programs that would write it, as the program does."""
    with (out / "sweep.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"out: {out}: another wakelab is writing to it\n  hint: wait for it, or name another folder", "out"
            ) from None
        yield


@contextlib.contextmanager
def _cluster(ray: Any, engine: str, jobs: int | None) -> Iterator[None]:
    """A running cluster, or one that is started on this machine and stopped afterwards."""
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        # Ray lets its workers import from the folder in which it is initialized. What lies in the current one may be
        # anybody's.
        here = os.getcwd()
        os.chdir("/")
        try:
            _initialize(ray, engine, jobs, options)
        finally:
            os.chdir(here)
    except Exception as error:
        raise InputError(
            f"engine: {engine}: no cluster answers: {error}\n"
            "  hint: `ray status` shows whether one runs; for one that asks for a token set RAY_AUTH_MODE=token",
            "engine",
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _initialize(ray: Any, engine: str, jobs: int | None, options: dict[str, Any]) -> None:
    """Reaches the cluster, or starts one."""
    if engine != "ray":
        address = engine if engine.startswith("ray://") else engine.removeprefix("ray:")
        # Ray itself asks for minutes.
        host, _, port = address.removeprefix("ray://").rpartition(":")
        socket.create_connection((host, int(port)), timeout=_ANSWERS).close()
        ray.init(address=address, **options)
    elif os.environ.get("RAY_ADDRESS"):
        ray.init(**options)
    else:
        # Without an address Ray would take the cluster that somebody has started on this machine.
        ray.init(
            address="local",
            num_cpus=jobs,
            include_dashboard=False,
            object_store_memory=_STORE,
            **options,
        )
