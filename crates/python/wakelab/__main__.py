"""`python3 -m wakelab sweep`: what `wakelab sweep --engine ray` leaves to this package."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys

from . import Error, InputError, sweep
from ._results import Progress


def main() -> int:
    """Makes the runs of a sweep, and returns the exit code of the program."""
    parser = argparse.ArgumentParser(prog="python3 -m wakelab", description=__doc__)
    commands = parser.add_subparsers(required=True)
    of_sweep = commands.add_parser("sweep")
    of_sweep.add_argument("--version", help="of the program that calls", required=True)
    of_sweep.add_argument("--engine", required=True)
    of_sweep.add_argument("--out", required=True)
    of_sweep.add_argument("--jobs", type=int)
    of_sweep.add_argument("file")
    args = parser.parse_args()
    try:
        own = importlib.metadata.version("wakelab")
        if own != args.version:
            raise InputError(
                f"--engine: the package for Python is from wakelab {own}, and the program from {args.version}\n"
                "  hint: install the package of the program's version"
            )
        made = sweep(args.file, out=args.out, engine=args.engine, jobs=args.jobs, progress=_progress())
    except Error as error:
        text = str(error)
        print(text if text.startswith("error: ") else f"error: {text}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except KeyboardInterrupt:
        print("interrupted: run the same command again to continue", file=sys.stderr)
        return 130
    if made.failed:
        print(f"warning: {made.failed} of {made.runs} runs failed; the column `error` says why", file=sys.stderr)
    print(f"{made.runs} runs of {made.points} points in {made.path}")
    return 0


def _progress() -> Progress | None:
    if not sys.stderr.isatty():
        return None

    def show(done: int, all_of_them: int, what: str) -> None:
        end = "\n" if done == all_of_them else ""
        print(f"\r{done} of {all_of_them} parts, {what}", end=end, file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
