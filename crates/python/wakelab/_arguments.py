"""Turns the arguments of functions into arguments of the program."""

from __future__ import annotations

import datetime
import json
import math
import operator
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _wakelab
from ._errors import wrong

if TYPE_CHECKING:
    from ._results import Captured

#: A name of the program's own, the path of a file, the text of one (it has line ends), or what is in one.
File: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
#: The switches of a side: "SIS_UTIL,NO_NEXT_BUDDY", or {"SIS_UTIL": True, "kernel": "v6.12"}.
Side: TypeAlias = "str | Mapping[str, bool | int | float | str]"
#: A side, several, or several with names.
Sides: TypeAlias = "Side | Sequence[Side] | Mapping[str, Mapping[str, bool | int | float | str]]"
#: Instances: 28, "25%", "25%..200%/25%", or several of these.
Load: TypeAlias = "int | str | Sequence[int | str]"
#: A time with its unit, "300ms", or a timedelta.
Time: TypeAlias = "str | datetime.timedelta"
#: Recordings or folders of them.
Recordings: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


class Arguments:
    """The arguments of a command, and the files that were written for them."""

    def __init__(self, *command: str) -> None:
        self.args = list(command)
        self.files: dict[str, str] = {}
        self._folder: str | None = None

    def positional(self, argument: str, paths: Recordings) -> None:
        """Adds paths of recordings."""
        several = [paths] if isinstance(paths, str | os.PathLike) else _several(argument, paths, "a path")
        found = [_path(argument, path) for path in several]
        # The program would take a path that begins with a dash for a flag.
        self.args += [f"./{path}" if path.startswith("-") else path for path in found]

    def flag(self, flag: str, value: bool, argument: str | None = None) -> None:
        """Adds a flag without a value."""
        if not isinstance(value, bool):
            raise wrong(argument or flag.replace("-", "_"), "True or False", value)
        if value:
            self.args.append(f"--{flag}")

    def text(self, flag: str, value: str | None, argument: str | None = None) -> None:
        """Adds a flag with a text."""
        if value is None:
            return
        self._add(flag, _str(argument or flag.replace("-", "_"), value))

    def path(self, flag: str, value: str | os.PathLike[str] | None) -> None:
        """Adds a flag with a path."""
        if value is not None:
            self._add(flag, _path(flag.replace("-", "_"), value))

    def whole(self, flag: str, value: int | None, argument: str | None = None) -> None:
        """Adds a flag with a whole number that is not negative."""
        if value is not None:
            self._add(flag, str(_whole(argument or flag.replace("-", "_"), value)))

    def number(self, flag: str, value: float | None, unit: str = "") -> None:
        """Adds a flag with a number above 0."""
        if value is None:
            return
        argument = flag.replace("-", "_")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
            raise wrong(argument, "a finite number above 0", value)
        self._add(flag, f"{value!r}{unit}")

    def time(self, flag: str, value: Time | None, argument: str | None = None) -> None:
        """Adds a flag with a time."""
        if value is None:
            return
        argument = argument or flag.replace("-", "_")
        if isinstance(value, datetime.timedelta):
            us = value // datetime.timedelta(microseconds=1)
            if us < 0:
                raise wrong(argument, "a time that is not negative", value)
            self._add(flag, f"{us}us")
        elif isinstance(value, str):
            self._add(flag, value)
        else:
            raise wrong(argument, "a time with its unit, such as '300ms', or a timedelta", value)

    def loads(self, value: Load | Mapping[str, Load] | None) -> None:
        """Adds loads: for all workloads, or for each of them, in their order."""
        if value is None:
            return
        if isinstance(value, Mapping):
            if not value:
                raise wrong("load", "a load for each workload", value)
            for load in value.values():
                self._add("load", _load(load))
        else:
            self._add("load", _load(value))

    def side(self, flag: str, value: Side, argument: str | None = None) -> None:
        """Adds the switches of one side."""
        self._add(flag, _switches(argument or flag, value))

    def sides(self, flag: str, value: Sides, argument: str) -> None:
        """Adds one side or several."""
        if isinstance(value, str):
            several = [_switches(argument, value)]
        elif isinstance(value, Mapping):
            named = {name: side for name, side in value.items() if isinstance(side, Mapping)}
            if named and len(named) != len(value):
                raise wrong(argument, "switches, or names of sides with their switches, not both", value)
            several = [f"{name}={_switches(argument, side)}" for name, side in named.items()]
            several = several or [_switches(argument, value)]
        else:
            several = [_switches(argument, side) for side in _several(argument, value, "a side")]
        for one in several:
            self._add(flag, one)

    def texts(self, flag: str, value: str | Sequence[str] | None) -> None:
        """Adds a flag for each of several texts."""
        if value is None:
            return
        for one in [value] if isinstance(value, str) else _several(flag, value, "a name"):
            self._add(flag, _str(flag, one))

    def file_or_name(self, flag: str, value: File | Captured | Sequence[File | Captured] | None) -> None:
        """Adds a flag for each of several names, paths, texts or contents of files."""
        if value is None:
            return
        one = isinstance(value, str | os.PathLike | Mapping) or hasattr(value, "toml")
        several = [value] if one else _several(flag, value, "a name, a path, a dict or a text")
        for number, file in enumerate(several):
            name = flag if one else f"{flag}-{number + 1}"
            self._add(flag, self.file(flag, file, name))

    def file(self, argument: str, value: Any, name: str) -> str:
        """A name or a path as the program takes it. Contents are written to a file for it."""
        toml = getattr(value, "toml", None)
        if isinstance(toml, str):
            return self._write(f"{name}.toml", toml)
        if isinstance(value, os.PathLike):
            path = _path(argument, value)
            # With a slash it is a path, and no name of the program's own.
            return path if "/" in path or path.endswith((".toml", ".json")) else f"./{path}"
        if isinstance(value, str):
            if not value.strip():
                raise wrong(argument, "a name, a path, a dict or the text of a file", value)
            if "\n" not in value:
                return value
            return self._write(f"{name}.{'json' if value.lstrip().startswith('{') else 'toml'}", value)
        if isinstance(value, Mapping):
            if not value:
                raise wrong(argument, "the contents of a file", value)
            return self._written(argument, value, name)
        raise wrong(argument, "a name, a path, a dict or the text of a file", value)

    def _written(self, argument: str, value: Mapping[str, Any], name: str) -> str:
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise wrong(argument, f"texts, finite numbers, lists and dicts ({error})", value) from None
        # Files of rt-app are JSON and have tasks; those of wakelab are TOML.
        if "tasks" in value:
            return self._write(f"{name}.json", text)
        try:
            return self._write(f"{name}.toml", _wakelab.toml(text))
        except ValueError as error:
            raise wrong(argument, f"a value that TOML can hold ({error})", value) from None

    def _write(self, name: str, text: str) -> str:
        if self._folder is None:
            # As long as a result may need it for its page.
            self._folder = tempfile.mkdtemp(prefix="wakelab-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = Path(self._folder) / name
        path.write_text(text, encoding="utf-8")
        self.files[str(path)] = name
        return str(path)

    def _add(self, flag: str, value: str) -> None:
        if "\0" in value:
            raise wrong(flag.replace("-", "_"), "a text without NUL", value)
        self.args.append(f"--{flag}={value}")

    def readable(self, text: str) -> str:
        """A text of the program with the names of files that were written in place of their paths."""
        for path, name in self.files.items():
            text = text.replace(path, name)
        return text


def _str(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise wrong(argument, "a text", value)
    return value


def _path(argument: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise wrong(argument, "a path", value)
    path = os.fspath(value)
    if not isinstance(path, str) or not path or "\0" in path:
        raise wrong(argument, "a path", value)
    return path


def _whole(argument: str, value: object) -> int:
    expected = "a whole number that is not negative"
    if isinstance(value, bool):
        raise wrong(argument, expected, value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise wrong(argument, expected, value) from None
    if number < 0:
        raise wrong(argument, expected, value)
    return number


def _several(argument: str, value: Any, of: str) -> list[Any]:
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise wrong(argument, f"{of}, or several", value)
    several = list(value)
    if not several:
        raise wrong(argument, f"{of}, or several", several)
    return several


def _load(value: Load) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ",".join(_load(one) for one in _several("load", value, "a load"))
    expected = "a number of instances from 1, or a text such as '25%' or '25%..200%/25%'"
    if isinstance(value, bool):
        raise wrong("load", expected, value)
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong("load", expected, value) from None
    if number < 1:
        raise wrong("load", expected, value)
    return str(number)


def _switches(argument: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        raise wrong(argument, "switches: a text such as 'A,NO_B', or a dict such as {'A': True, 'B': False}", value)
    return ",".join(_switch(argument, name, of) for name, of in value.items())


def _switch(argument: str, name: object, value: object) -> str:
    if not isinstance(name, str) or not name or "," in name or "=" in name:
        raise wrong(argument, "a feature or a tunable", name)
    if isinstance(value, bool):
        if name.startswith("NO_"):
            raise wrong(argument, f"{name.removeprefix('NO_')!r} with True or False", {name: value})
        return name if value else f"NO_{name}"
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(argument, "a finite number", {name: value})
    if isinstance(value, int | float | str) and "," not in str(value):
        return f"{name}={value}"
    raise wrong(argument, "True, False, a number or a text", {name: value})
