"""The functions have the arguments of the program's flags, and the wheel is whole."""

import importlib.metadata
import inspect
import re
import subprocess
from importlib import resources

import pytest
from conftest import REPOSITORY

import wakelab

# What is of a terminal, or what a function has another way for.
LEFT_OUT = {
    "help", "format", "out", "html", "quiet", "verbose", "dry-run", "fail-if", "no-cache", "version",
    "summary-only", "top", "ablate", "rt-app", "workload-file", "details",
}  # fmt: skip
NAMES = {"with": "with_", "from": "from_", "repeat": "repeats"}


COMMANDS = ["compare", "run", "explain", "conform", "replay", "stats", "capture", "whatif", "score", "sweep"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_flag_is_an_argument(command, program):
    flags = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", program(command, "--help"), re.MULTILINE)) - LEFT_OUT
    if command == "whatif":
        # The file of the captured workload is what capture() is for.
        flags.discard("workload")
    parameters = set(inspect.signature(getattr(wakelab, command)).parameters)
    assert {NAMES.get(flag, flag.replace("-", "_")) for flag in flags} - parameters == set()


def test_each_argument_is_described():
    for name in wakelab.__all__:
        of = getattr(wakelab, name)
        assert of.__doc__, name
        if inspect.isfunction(of):
            for parameter in inspect.signature(of).parameters:
                assert f"        {parameter}: " in of.__doc__, f"{name}({parameter})"


def test_the_wheel_is_typed_and_of_the_programs_version():
    files = {file.name for file in resources.files(wakelab).iterdir()}
    assert {"py.typed", "_wakelab.pyi"} <= files
    assert importlib.metadata.version("wakelab") == wakelab.machines().to_dict()["wakelab"]
    of_cargo = re.search(r'^version = "(.*)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)
    assert of_cargo is not None
    assert importlib.metadata.version("wakelab") == of_cargo[1]


def test_the_package_imports_nothing_but_python():
    text = "import sys, wakelab; print([name for name in ('pandas', 'pyarrow', 'numpy') if name in sys.modules])"
    import sys

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
