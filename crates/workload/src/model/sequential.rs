//! Short processes that a shell starts one after another: what sequential-tasks and gitsource have in common.

use crate::benchmark::{ParamDef, Values};
use crate::model::params;
use crate::{Call, Op, Program, Work};

const fn cost(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

/// The costs of a process, besides its work.
pub(crate) const PARAMS: [ParamDef; 4] = [
    cost("fork", 80_000, 40_000, 200_000, "assumed: fork() of a shell, which copies its page tables, for the parent"),
    cost(
        "exec",
        250_000,
        120_000,
        500_000,
        "assumed: execve(), the dynamic linker and the page faults of a small program",
    ),
    cost("exit", 90_000, 40_000, 200_000, "assumed: exit() of a small program, which gives its memory back"),
    cost("shell", 60_000, 20_000, 200_000, "assumed: what a shell does between two commands: wait(), read, expand"),
];

/// The part of a process that is not its work, ns.
pub(crate) fn overhead(values: &Values) -> u64 {
    PARAMS.iter().map(|param| values.get(param.name)).sum()
}

/// A process that does so much work: forked by a shell, it becomes another program, works, and exits.
pub(crate) fn command(name: &str, work: Work, values: &Values) -> Program {
    let jitter_pct = work.jitter_pct;
    let run = |name| Op::Run(Work::uniform(values.get(name), jitter_pct));
    // sched_exec() comes before what execve() costs.
    Program { name: name.to_owned(), ops: vec![Op::Call(Call::Exec), run("exec"), Op::Run(work), run("exit")] }
}

/// A shell's steps around commands that it starts at the same time, and waits for.
pub(crate) fn start(programs: &[u32], jitter_pct: u32, values: &Values) -> Vec<Op> {
    let run = |name| Op::Run(Work::uniform(values.get(name), jitter_pct));
    let fork = |&program: &u32| [run("fork"), Op::Fork { program }];
    programs.iter().flat_map(fork).chain([Op::Wait, run("shell")]).collect()
}
