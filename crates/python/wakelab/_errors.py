"""Errors and warnings, with the argument that they are about."""

from __future__ import annotations

import re


class Error(Exception):
    """What the program says of an error: what was found, what was expected, and the next step.

    Attributes:
        argument: The argument of the call that is wrong, if the error is about one.
        json: What came out before the error, as the program's JSON; mostly nothing.
    """

    def __init__(self, text: str, argument: str | None = None, json: str = "") -> None:
        if argument is not None and not text.startswith(f"{argument}: "):
            text = f"{text}\n  argument: {argument}"
        super().__init__(text)
        self.argument = argument
        self.json = json


class InputError(Error, ValueError):
    """An argument or a file is wrong."""


class RunError(Error, RuntimeError):
    """A simulated run failed, or a question has no answer."""


class Warning(UserWarning):
    """A warning of the program."""


# The flag that an error begins with, or that clap quotes.
_FLAG = re.compile(r"^--([a-z-]+)|'--([a-z-]+)|^error: --([a-z-]+)")
# Arguments that are not called as their flag.
_NAMES = {"with": "with_", "from": "from_", "repeat": "repeats", "format": None, "html": None, "ablate": "ablate"}


def argument_of(text: str) -> str | None:
    """The argument of the call that an error of the program is about."""
    found = _FLAG.search(text)
    if found is None:
        return None
    flag = next(group for group in found.groups() if group is not None)
    return _NAMES.get(flag, flag.replace("-", "_"))


def wrong(argument: str, expected: str, found: object) -> InputError:
    """The error of an argument."""
    return InputError(f"{argument}: expected {expected}, found {found!r}", argument)
