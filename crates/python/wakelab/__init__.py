"""wakelab: where Linux puts a waking task, and why.

Each function is a command of the program `wakelab`: `compare()` is `wakelab compare`, and arguments are named as its
flags are. Results have the program's JSON (`.json`, `.to_dict()`), their rows as a table (`.to_pandas()`,
`.to_arrow()`), and the program's page where a notebook shows them.

Times are simulated and of integer nanoseconds, loads are numbers of instances, and `pct` is per cent.
"""

from ._api import (
    capture,
    compare,
    conform,
    experiments,
    explain,
    features,
    kernels,
    machines,
    panels,
    policies,
    policy,
    replay,
    run,
    score,
    simulate,
    stats,
    sweep,
    sweeps,
    whatif,
    workloads,
)
from ._errors import Error, InputError, RunError, Warning
from ._results import (
    Captured,
    Comparison,
    Conformance,
    Explanations,
    Listing,
    Matrix,
    Replay,
    Result,
    Score,
    Simulation,
    Stats,
    Summary,
    Verdict,
    WhatIf,
)
from ._sweep import Sweep
from ._wakelab import Search, Table

__all__ = [
    "Captured",
    "Comparison",
    "Conformance",
    "Error",
    "Explanations",
    "InputError",
    "Listing",
    "Matrix",
    "Replay",
    "Result",
    "RunError",
    "Score",
    "Search",
    "Simulation",
    "Stats",
    "Summary",
    "Sweep",
    "Table",
    "Verdict",
    "Warning",
    "WhatIf",
    "capture",
    "compare",
    "conform",
    "experiments",
    "explain",
    "features",
    "kernels",
    "machines",
    "panels",
    "policies",
    "policy",
    "replay",
    "run",
    "score",
    "simulate",
    "stats",
    "sweep",
    "sweeps",
    "whatif",
    "workloads",
]
