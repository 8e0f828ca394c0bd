"""Results: the program's JSON, as objects."""

from __future__ import annotations

import html
import json
import os
import shlex
import tempfile
import tomllib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from . import _wakelab
from ._errors import Error, InputError, RunError, Warning, argument_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ._arguments import Arguments

#: Is called with what is done, all (0 if that is not known), and what is being done: runs, or bytes of recordings.
Progress: TypeAlias = Callable[[int, int, str], object]

#: What a verdict says in a word. `mixed`: some rows are better and some worse.
VerdictKind: TypeAlias = Literal["better", "worse", "mixed", "undecided", "same", "identical", "untested"]

_R = TypeVar("_R", bound="Result")

# Rows of a table in a notebook.
_SHOWN = 50


@dataclass(frozen=True)
class Verdict:
    """What is concluded of a comparison.

    Attributes:
        text: The sentence that the program prints.
        lines: That sentence, what it takes chance for, and what is known of the model.
        better: Rows in which the other side is better, by more than noise and more than chance.
        worse: Rows in which it is worse.
        undecided: Rows in which it would be one of both, but not with other constants.
        same: Rows in which no difference is shown.
        identical: Rows whose sides have the same value with every seed.
        untested: Rows with one run per side.
    """

    text: str
    lines: tuple[str, ...]
    better: int
    worse: int
    undecided: int
    same: int
    identical: int
    untested: int

    @property
    def kind(self) -> VerdictKind:
        """The verdict in a word."""
        if self.better and self.worse:
            return "mixed"
        if self.better:
            return "better"
        if self.worse:
            return "worse"
        if self.undecided:
            return "undecided"
        if self.untested:
            return "untested"
        return "same" if self.same else "identical"

    def __str__(self) -> str:
        return self.text

    @classmethod
    def _of(cls, value: dict[str, Any]) -> Verdict:
        names = ("better", "worse", "undecided", "same", "identical", "untested")
        counts = {name: int(value[name]) for name in names}
        return cls(text=value["text"], lines=tuple(value["lines"]), **counts)


class Result:
    """What a command of the program found.

    Attributes:
        json: The JSON that the program prints with `--format json`, to the byte.
        notes: What the program says besides: what came from the cache, and what stands for a name.
    """

    def __init__(self, output: str, notes: tuple[str, ...], call: Call) -> None:
        self.json = output
        self.notes = notes
        self._call = call
        self._parsed: Any = None
        self._page: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON as Python's values."""
        parsed: dict[str, Any] = json.loads(self.json)
        return parsed

    @property
    def _value(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = self.to_dict()
        parsed: dict[str, Any] = self._parsed
        return parsed

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the result, as the JSON has them."""
        return list(self._value.get("rows", []))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return True

    def _columns(self) -> list[tuple[str, str, list[Any]]]:
        return _columns([_flat(row) for row in self.rows])

    def table(self) -> _wakelab.Table:
        """The rows as a table in Arrow's memory, which pyarrow, Polars and DuckDB take over without a copy.

        A value within an object is a column `outer.inner`; a list of objects is a column of JSON.
        """
        return _wakelab.Table(self._columns())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self.table().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """The rows as a table of pyarrow, which must be installed (`pip install wakelab[arrow]`)."""
        import pyarrow

        return pyarrow.table(self.table())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame of pandas, which must be installed (`pip install wakelab[pandas]`)."""
        import pandas

        return pandas.DataFrame({name: values for name, _, values in self._columns()})

    @property
    def html(self) -> str | None:
        """The page that the program writes with `--html`: charts and tables, in one file that needs no network.

        Makes the call again the first time, with what the cache keeps of it. `None` if such a result has no page.

        Raises:
            Error: A file has changed since the call.
        """
        if self._page is None and self._call.has_page:
            self._page = self._call.page(self.json)
        return self._page

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file.

        Raises:
            Error: Such a result has no page.
        """
        page = self.html
        if page is None:
            raise Error(f"{type(self).__name__}: results of this kind have no page")
        Path(path).write_text(page, encoding="utf-8")

    def _repr_html_(self) -> str:
        page = self.html
        if page is None:
            return _html_table(self._columns())
        style = "width: 100%; height: 40em; border: 1px solid #ccc"
        return f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<wakelab.{type(self).__name__}: {self._about()}>"

    def _about(self) -> str:
        return f"{len(self)} rows"


class _Judged(Result):
    """A result with a verdict."""

    @property
    def complete(self) -> bool:
        """Whether all rows are there."""
        return bool(self._value["complete"])


class Comparison(_Judged):
    """Two sides compared: a row for each workload, load and metric."""

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return Verdict._of(self._value["verdict"])

    def _about(self) -> str:
        return self.verdict.text


class Matrix(_Judged):
    """Any number of machines, kernels and sides compared. Rows have `machine`, `kernel` and `variant`, too."""

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each side against the base, by the side's name."""
        return {value["variant"]: Verdict._of(value) for value in self._value["verdicts"]}

    @property
    def comparisons(self) -> list[dict[str, Any]]:
        """For each machine, kernel and side, the contents of a comparison's JSON."""
        return list(self._value["comparisons"])

    @property
    def means(self) -> list[dict[str, Any]]:
        """Geometric means of each side over workloads, machines and kernels."""
        return list(self._value["means"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all comparisons."""
        return [
            {
                "machine": comparison["experiment"]["machine"],
                "kernel": comparison["experiment"]["kernel"],
                "variant": comparison["variant"],
                **row,
            }
            for comparison in self.comparisons
            for row in comparison["rows"]
        ]

    def _about(self) -> str:
        return "; ".join(verdict.text for verdict in self.verdicts.values())


class Simulation(Result):
    """One side, simulated: a row for each workload, load and metric, with what was measured in the run."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows: what the side has in the program's JSON, with the case."""
        of_case = ("benchmark", "case", "load", "metric", "unit", "better")
        return [{**{name: row[name] for name in of_case}, **row["base"]} for row in self._value["rows"]]


class Explanations(Result):
    """Wake-ups, each with why its CPU was chosen."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One explanation per wake-up; `text` has it in words. Empty if no row matches: then `notes` say why."""
        if self._parsed is None:
            self._parsed = [json.loads(line) for line in self.json.splitlines()]
        return list(self._parsed)

    def to_dict(self) -> dict[str, Any]:
        """The explanations, under the key `rows`: the program prints a JSON object for each."""
        return {"rows": [json.loads(line) for line in self.json.splitlines()]}

    def __str__(self) -> str:
        return "\n".join(row["text"] for row in self.rows)


class Summary(Result):
    """The share of each reason, by kernel, load and flags."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The groups of wake-ups, each with its reasons."""
        return list(self._value["groups"])


class Conformance(Result):
    """The model's choices compared with the kernel's."""

    @property
    def scored(self) -> int:
        """The decisions that were compared."""
        return int(self._value["scored"])

    @property
    def equal(self) -> int:
        """Those that are equal in everything."""
        return int(self._value["equal"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The reasons of choices, each with how many are equal."""
        return list(self._value["reasons"])

    def _about(self) -> str:
        return f"{self.equal} of {self.scored} decisions are equal"


class Replay(Result):
    """Recorded choices made again with other features."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """How many choices with one reason have another now, and how many chose another CPU."""
        return list(self._value["changes"])

    def _about(self) -> str:
        return f"{self._value['other_cpu']} of {self._value['rows']} choices go to another CPU"


class Score(Result):
    """One number for a candidate on a panel."""

    @property
    def pct(self) -> float:
        """How much better the candidate is than the panel's base: the weighted geometric mean of all rows, %."""
        return float(self._value["score_pct"])

    @property
    def gave_up(self) -> bool:
        """Whether the candidate was given up after the fast rung."""
        return bool(self._value["gave_up"])

    @property
    def probability_better(self) -> float | None:
        """How probable it is that the candidate is better, 0 to 1; None if a row has only one run per side."""
        probability: float | None = self._value["probability_better"]
        return probability

    def __float__(self) -> float:
        return self.pct

    def _about(self) -> str:
        return f"{self.pct:+.2f}% on the {self._value['rung']} rung"


class Stats(Result):
    """Reasons, searches, waits and migrations, counted."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each run."""
        return list(self._value["runs"])


class WhatIf(Result):
    """A recorded load, simulated as it was recorded and as asked."""

    @property
    def fidelity(self) -> str:
        """How like the recording the captured load behaves: `faithful`, `roughly` or `not`."""
        return str(self._value["fidelity"]["verdict"])

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What is concluded of each side against what was recorded, by its switches."""
        of = self._value["comparisons"]
        return {comparison["experiment"]["with"]: Verdict._of(comparison["verdict"]) for comparison in of}

    @property
    def verdict(self) -> Verdict:
        """What is concluded of the one side that was asked for.

        Raises:
            Error: There is none, or there are several; `verdicts` has one for each side.
        """
        verdicts = list(self.verdicts.values())
        if len(verdicts) != 1:
            raise Error(f"verdict: there are {len(verdicts)} sides; `verdicts` has one for each")
        return verdicts[0]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was recorded, simulated and predicted, a row for each side and quantity."""
        predictions = self._value["predictions"]
        return [{"side": side["side"], **row} for side in predictions for row in side["rows"]]

    def _about(self) -> str:
        verdicts = "".join(f"; {verdict.text}" for verdict in self.verdicts.values())
        return f"fidelity: {self.fidelity}{verdicts}"


class Captured(Result):
    """A recording as a workload, for `workload=` of other functions.

    Attributes:
        toml: The text of the workload's file.
        text: What the program says of it.
    """

    def __init__(self, output: str, notes: tuple[str, ...], call: Call) -> None:
        super().__init__("", notes, call)
        self.text = output
        self.toml = ""

    def to_dict(self) -> dict[str, Any]:
        """The workload as Python's values."""
        return tomllib.loads(self.toml)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tasks."""
        return list(self._value["task"])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def _about(self) -> str:
        return self.text.partition("\n")[0]


class Listing(Result):
    """Names that the program knows."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What the program says of each."""
        return next(list(value) for value in self._value.values() if isinstance(value, list))

    @property
    def names(self) -> list[str]:
        """The names."""
        return [row["name"] for row in self.rows]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def _about(self) -> str:
        return ", ".join(self.names)


class Call:
    """A command and its arguments, which can be run again for a page."""

    def __init__(self, arguments: Arguments, format: str | None = "json", has_page: bool = True) -> None:
        self.arguments = arguments
        self.args = [*arguments.args, *([f"--format={format}"] if format else [])]
        self.has_page = has_page

    def run(self, of: type[_R], progress: Progress | None = None) -> _R:
        """Runs the command, and makes an object of its output."""
        if progress is not None and not callable(progress):
            raise InputError(f"progress: expected a callable, found {progress!r}", "progress")
        output, notes = self._output(self.args, progress)
        return of(output, notes, self)

    def page(self, before: str) -> str | None:
        """The page of the command, whose output was `before`; `None` if there is nothing to show."""
        with tempfile.TemporaryDirectory(prefix="wakelab-") as folder:
            path = Path(folder) / "page.html"
            # A run is made again; what the call had written is there already.
            args = [arg for arg in self.args if not arg.startswith(("--events=", "--perfetto=", "--workload="))]
            args += [arg for arg in self.args if arg.startswith("--workload=") and self.args[0] != "whatif"]
            output, _ = self._output([*args, f"--html={path}"], None, quiet=True)
            if output != before:
                raise Error("html: the call comes out otherwise now: a file that it reads has changed since")
            return self.arguments.readable(path.read_text(encoding="utf-8")) if path.exists() else None

    def _output(self, args: list[str], progress: Progress | None, quiet: bool = False) -> tuple[str, tuple[str, ...]]:
        out, notes = self.raw(args, progress, quiet)
        return self.arguments.readable(out.decode()), notes

    def raw(self, args: list[str], progress: Progress | None, quiet: bool = False) -> tuple[bytes, tuple[str, ...]]:
        """Runs the program with these arguments. Returns what it prints, as bytes, and its notes."""
        readable = self.arguments.readable
        command = readable(shlex.join(["wakelab", *self.arguments.args]))
        code, out, said = _wakelab.run(args, command, str(_wakelab.__file__), progress)

        def of_kind(kind: str) -> list[str]:
            return [readable(text) for found, text in said if found == kind]

        errors = of_kind("error")
        if code is None or errors or code > 1:
            # What comes out beside an error is text.
            output = readable(out.decode(errors="replace"))
            text = "\n".join(errors)
            if code is None:
                raise RunError(text or "the command was stopped", None, output)
            of = InputError if code == 2 else RunError
            raise of(text, argument_of(text), output)
        if not quiet:
            for text in of_kind("warning"):
                warnings.warn(text, Warning, stacklevel=5)
        return out, tuple(of_kind("note"))


def _flat(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A row whose objects are columns `outer.inner`."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _columns(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[Any]]]:
    """The columns of rows: name, kind and values."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns: list[tuple[str, str, list[Any]]] = []
    for name in names:
        values = [row.get(name) for row in rows]
        kind = _kind(values)
        if kind is None:
            kind = "str"
            values = [None if value is None else json.dumps(value) for value in values]
        columns.append((name, kind, values))
    return columns


def _kind(values: list[Any]) -> str | None:
    """The kind of the values of a column; `None` if only JSON can hold them."""
    some = [value for value in values if value is not None]
    lists = [value for value in some if isinstance(value, list)]
    if lists:
        if len(lists) < len(some):
            return None
        of = _kind([one for value in lists for one in value])
        return None if of is None or of.startswith("list") else f"list[{of}]"
    kinds = {type(value) for value in some}
    if kinds <= {int, float} and float in kinds:
        return "float"
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in some):
        return "int"
    # A column without a value is one of texts.
    return "bool" if kinds == {bool} else "str" if kinds <= {str} else None


def _html_table(columns: list[tuple[str, str, list[Any]]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name, _, _ in columns)
    count = len(columns[0][2]) if columns else 0
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(values[at]))}</td>" for _, _, values in columns) + "</tr>"
        for at in range(min(count, _SHOWN))
    )
    more = f"<p>and {count - _SHOWN} more rows</p>" if count > _SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
