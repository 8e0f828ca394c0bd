#!/usr/bin/env python3
"""Searches a family of search limits for one that beats SIS_UTIL, and judges the winner once.

Needs `wakelab` and Optuna 5 (`pip install optuna`). It takes about 40 minutes of two cores that have nothing else
to do. The same program, panel and arguments give the same tables: Optuna's sampler has a seed, one trial follows
another, and `wakelab` gives the same bytes for the same input. More trials begin with the same ones. `wakelab` keeps
its runs, so that an interrupted script goes on.


    docs/studies/beyond-sis-util.py --wakelab target/release/wakelab --out docs/studies

Steps, each of which writes a table beyond-sis-util-STEP.csv to --out:

    regret   what perfect knowledge (SIS_ORACLE) would gain in each row for training, and what SIS_UTIL's searches miss
    trials   Optuna (TPE, two objectives: score and worst row) on the fast rung of the parts for training
    full     the most promising trials, the posted policies and single parameters on the full rung of the same parts
    judge    one candidate, by rules that are fixed below, on the parts that are held out, with another seed
    trust    the same candidate with the constants of the machine varied, and on a fitted machine's ensemble

The rules: a trial is eligible if its worst row loses no more than LOSS_PCT, the least difference that the model can
tell. The FINALISTS eligible trials with the highest scores go to the full rung, and the best of these that is eligible
there, too, is the candidate. If none is, the one that loses least there is.
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

import optuna

PANEL = "beyond-sis-util"
SAMPLER_SEED = 1
HELD_OUT_SEED = 2
LOSS_PCT = 5.0
FINALISTS = 3

# What the trials begin with: SIS_UTIL itself, and single parameters away from it.
BEGIN = {
    "posted": [
        {},
        {"pct": 150},
        {"pct": 200},
        {"exponent": 1},
        {"exponent": 4},
        {"small_llc": True},
        {"rotate": True},
        {"filter": True},
        {"stay": True},
        {"core": "NO_SIS_CORE"},
        {"core": "SIS_EFF_CORE_LIMIT"},
    ],
    "all": [
        {},
        {"pct": 150},
        {"exponent": 4},
        {"runnable": 50},
        {"floor": 4},
        {"cap": 16},
        {"failed": 3},
        {"run": 200},
        {"short": 20_000},
        {"filter": True},
        {"stay": True},
    ],
}

# For comparison on the full rung.
POSTED = ["NO_SIS_UTIL"]

# The loads that the trust step looks at: machine, kernel, workload, loads.
SENSITIVE = [("intel-comet-lake-10c20t", "v7.2", "netperf:TCP_RR", "15,30")]
FITTED = [("v6.12", "netperf:TCP_RR", "112,168"), ("v6.12", "hackbench:process-pipe", "4")]


# The parameters of SIS_PARAM, each with its values. The first is SIS_UTIL's own.
PARAM = {
    "runnable": [0, 25, 50, 100],
    "floor": [0, 2, 4, 8],
    "cap": [0, 64, 32, 16, 8, 4],
    "failed": [0, 1, 3, 6],
    "run": [0, 50, 200, 800],
    "short": [0, 5_000, 20_000, 100_000],
    "short_scan": [100, 60, 30],
}

# What was posted, as switches.
SWITCHES = {
    "small_llc": [False, True],
    "rotate": [False, True],
    "filter": [False, True],
    "stay": [False, True],
    "core": ["SIS_CORE", "NO_SIS_CORE", "SIS_EFF_IDLE_CORE", "SIS_EFF_CORE_LIMIT"],
}


def switches_of(trial: optuna.Trial, family: str) -> str:
    """The candidate of a trial. A parameter at SIS_UTIL's own value is left out."""
    pct = trial.suggest_int("pct", 110, 250, step=10)
    exponent = trial.suggest_int("exponent", 1, 4)
    grid = SWITCHES if family == "posted" else PARAM | SWITCHES
    value = OWN | {name: trial.suggest_categorical(name, values) for name, values in grid.items()}
    short, core = value["short"], value["core"]
    parts = [
        (pct != OWN["pct"], f"sis_util_pct={pct}"),
        (exponent != OWN["exponent"], f"sis_util_exponent={exponent}"),
        (value["runnable"], f"sis_param_runnable={value['runnable']}"),
        (value["floor"], f"sis_param_floor={value['floor']}"),
        (value["cap"], f"sis_param_cap={value['cap']}"),
        (value["failed"], f"sis_param_failed={value['failed']}"),
        (value["run"], f"sis_param_run={value['run']}"),
        (short, f"sis_param_short={short}"),
        (short and value["short_scan"] != 100, f"sis_param_short_scan={value['short_scan']}"),
        (value["small_llc"], "SIS_UTIL_SMALL_LLC"),
        (value["rotate"], "SIS_LIMIT"),
        (value["filter"], "SIS_FILTER"),
        (value["stay"], "SIS_SHORT"),
        (core != OWN["core"], core),
    ]
    on = [text for is_on, text in parts if is_on]
    return ",".join(["SIS_PARAM", *on] if any("sis_param" in text for text in on) else on or ["SIS_UTIL"])


# SIS_UTIL as a point of the family. Its 117% is the only value between two steps of the grid: 120 stands for it, and
# means the kernel's own.
OWN = {"pct": 120, "exponent": 2} | {name: values[0] for name, values in (PARAM | SWITCHES).items()}


class Wakelab:
    """The program."""

    def __init__(self, path: str, panel: str, jobs: int) -> None:
        self.path, self.panel, self.jobs = path, panel, jobs

    def json(self, *args: str) -> dict | None:
        """What a command prints; `None` if a run failed (exit code 1), for example because nothing finished in it."""
        command = [self.path, "--quiet", *args, "--format", "json", "--jobs", str(self.jobs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 1:
            return None
        done.check_returncode()
        return json.loads(done.stdout)

    def score(self, candidate: str, *args: str) -> dict | None:
        """The score of a candidate."""
        return self.json("score", self.panel, "--with", candidate, *args)


class Table:
    """A table that is written row by row."""

    def __init__(self, out: Path, step: str, columns: str) -> None:
        self.path, self.columns = out / f"beyond-sis-util-{step}.csv", columns.split(",")
        self.rows: list[dict] = []

    def add(self, *values: object) -> None:
        """Adds a row, and writes the table."""
        texts = [f"{value:.2f}" if isinstance(value, float) else value for value in values]
        self.rows.append(dict(zip(self.columns, texts, strict=True)))
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)

    def read(self) -> list[dict]:
        """The table that an earlier step has written."""
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))


ROW = "machine,kernel,benchmark,case,load"
SCORES = f"candidate,{ROW},compare_pct,ci_low,ci_high,verdict"
TABLES = {
    "regret": f"{ROW},oracle_pct,on_busy_pct,missed_pct,searches_pct,looks_per_search,futile_pct,state,"
    "us_on_idle,us_on_busy",
    "trials": "trial,score_pct,worst_pct,worst_row,candidate",
    "full": SCORES,
    "judge": SCORES,
    "trust": f"what,{ROW},better,same,worse,lowest_pct,median_pct,highest_pct",
}


def row_of(row: dict, *more: object) -> list:
    """The columns that say which row it is."""
    return [*(row[key] for key in ROW.split(",")), *more]


def add_score(table: Table, candidate: str, score: dict | None) -> None:
    """Adds a score and its rows. A candidate with which a run failed has a line without numbers."""
    if score is None:
        table.add(candidate, "all", "", "", "", "", "", "", "", "a run failed")
        return
    low, high = score["ci95"] or ("", "")
    table.add(candidate, "all", "", "", "", "", score["score_pct"], low, high, f"better: {score['probability_better']}")
    for row in score["rows"]:
        low, high = row["ci95"] or ("", "")
        table.add(candidate, *row_of(row), row["compare_pct"], low, high, row["verdict"])


def step_regret(wakelab: Wakelab, table: Table, args: argparse.Namespace) -> None:
    """What SIS_UTIL's searches miss, and what perfect knowledge would gain."""
    panel = wakelab.score("SIS_ORACLE", "--rung", "fast")
    for row in panel["rows"]:
        load = row["load"].split()[0]
        found = wakelab.json(
            "compare", "--machine", row["machine"], "--kernel", row["kernel"], "--load", load,
            "--workload", f"{row['benchmark']}:{row['case']}", "--base", "", "--with", "SIS_ORACLE", "--regret",
            "--settle", "150ms", "--time", "30ms", "--repeat", "1", "--seed", "1",
        )  # fmt: skip
        compared = found["rows"][0]
        regret = compared["base"]["regret"]
        wakeups, searches, looks, cpu = regret["wakeups"], regret["searches"], regret["looks"], regret["cpu"]
        share = [wakeups["on_busy"] + wakeups["on_claimed"], wakeups["missed"], searches["n"]]
        us = [cpu[kind]["ns_per_wakeup"] for kind in ("on_idle", "on_busy")]
        table.add(
            *row_of(row, compared["compare_pct"]),
            *(100 * part / max(wakeups["n"], 1) for part in share),
            looks["n"] / max(searches["n"], 1),
            looks["futile_pct"] if looks["futile_pct"] is not None else "",
            regret["states"]["kept"],
            *(each / 1000 if each is not None else "" for each in us),
        )


def step_trials(wakelab: Wakelab, table: Table, args: argparse.Namespace) -> None:
    """The search."""

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        candidate = switches_of(trial, args.family)
        score = wakelab.score(candidate, "--rung", "fast")
        if score is None:
            table.add(trial.number, "", "", "a run failed", candidate)
            raise optuna.TrialPruned
        worst = score["worst"]
        name = " ".join(str(part) for part in row_of(worst))
        table.add(trial.number, score["score_pct"], worst["compare_pct"], name, candidate)
        return score["score_pct"], worst["compare_pct"]

    begin = BEGIN[args.family]
    sampler = optuna.samplers.TPESampler(seed=SAMPLER_SEED, n_startup_trials=len(begin) + 5)
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=sampler)
    for changed in begin:
        whole = OWN | changed
        study.enqueue_trial({name: whole[name] for name in whole if args.family == "all" or name not in PARAM})
    study.optimize(objective, n_trials=args.trials)


def finalists(trials: list[dict]) -> list[str]:
    """The eligible trials with the highest scores."""
    scored = [trial for trial in trials if trial["score_pct"] and float(trial["score_pct"]) > 0]
    eligible = [trial for trial in scored if float(trial["worst_pct"]) >= -LOSS_PCT]
    ordered = sorted(eligible, key=lambda trial: -float(trial["score_pct"]))
    unique = list(dict.fromkeys(trial["candidate"] for trial in ordered))
    return unique[:FINALISTS]


def step_full(wakelab: Wakelab, table: Table, args: argparse.Namespace) -> None:
    """The finalists and the posted policies on the full rung."""
    trials = Table(args.out, "trials", TABLES["trials"]).read()
    for candidate in [*finalists(trials), *POSTED]:
        add_score(table, candidate, wakelab.score(candidate, "--rung", "full"))


def chosen(args: argparse.Namespace) -> str:
    """The candidate, by the rules."""
    full = Table(args.out, "full", TABLES["full"]).read()
    worst, total = {}, {}
    for row in full:
        name = row["candidate"]
        if name in POSTED or not row["compare_pct"]:
            continue
        if row["machine"] == "all":
            total[name] = float(row["compare_pct"])
        else:
            worst[name] = min(worst.get(name, 0.0), float(row["compare_pct"]))
    eligible = [name for name in total if worst[name] >= -LOSS_PCT]
    if eligible:
        return max(eligible, key=lambda name: total[name])
    return max(total, key=lambda name: worst[name])


def step_judge(wakelab: Wakelab, table: Table, args: argparse.Namespace) -> None:
    """The candidate on what is held out."""
    candidate = chosen(args)
    held_out = ["--held-out", "--rung", "full", "--seed", str(HELD_OUT_SEED)]
    add_score(table, candidate, wakelab.score(candidate, *held_out))


def step_trust(wakelab: Wakelab, table: Table, args: argparse.Namespace) -> None:
    """The candidate with other constants of the machine and the workload, drawn from their ranges or fitted."""
    candidate = chosen(args)
    fitted = [(str(args.fitted), *rest) for rest in FITTED] if args.fitted else []
    for what, cases, more in [("ranges", SENSITIVE, ["--sensitivity", "--budget", "16"]), ("ensemble", fitted, [])]:
        for machine, kernel, workload, load in cases:
            found = wakelab.json(
                "compare", "--machine", machine, "--kernel", kernel, "--workload", workload, "--load", load,
                "--base", "", "--with", candidate, "--settle", "150ms", "--time", "30ms", "--repeat", "1",
                "--seed", str(HELD_OUT_SEED), *more,
            )  # fmt: skip
            for row in found["sensitivity"]["rows"]:
                name = [found["machine"]["name"], kernel, row["benchmark"], row["case"], row["load"]]
                classes = [row["classes"][kind] for kind in ("better", "same", "worse")]
                table.add(what, *name, *classes, *(row["range"] or ["", "", ""]))


def markdown(out: Path) -> str:
    """The tables as Markdown."""
    texts = []
    for step, columns in TABLES.items():
        table = Table(out, step, columns)
        if table.path.exists():
            lines = [table.columns, ["---"] * len(table.columns), *([*row.values()] for row in table.read())]
            texts.append(f"{step}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines))
    return "\n\n".join(texts)


STEPS = {"regret": step_regret, "trials": step_trials, "full": step_full, "judge": step_judge, "trust": step_trust}


def main() -> None:
    """Does the steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wakelab", default="wakelab", help="the program (default: wakelab)")
    parser.add_argument("--out", type=Path, default=Path(), help="where the tables are written (default: here)")
    parser.add_argument("--family", default="all", choices=BEGIN, help="posted: without SIS_PARAM (default: all)")
    parser.add_argument("--trials", type=int, default=40, help="how many candidates Optuna tries (default: 40)")
    parser.add_argument("--panel", default=PANEL, help=f"a panel's name or file (default: {PANEL})")
    parser.add_argument("--jobs", type=int, default=2, help="how many runs at once (default: 2)")
    parser.add_argument("--fitted", type=Path, help="a machine file of `wakelab fit` for the trust step")
    parser.add_argument("steps", nargs="*", help="the steps (default: all)")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown, and run nothing")
    args = parser.parse_args()
    if args.markdown:
        print(markdown(args.out))
        return
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for step in args.steps or STEPS:
        print(f"{step}: {args.out / f'beyond-sis-util-{step}.csv'}", file=sys.stderr)
        STEPS[step](Wakelab(args.wakelab, args.panel, args.jobs), Table(args.out, step, TABLES[step]), args)


if __name__ == "__main__":
    main()
