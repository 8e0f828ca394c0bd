//! Comparisons of more than two sides, as `wakelab run` and `wakelab compare` make them.

use super::simulate::{ResultFormat, SimulationFlags, deliver, say_condition};
use super::trust;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::flags::JobsFlag;
use crate::out_file::{OutFile, command_line};
use crate::output::{Exit, say_error, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use anyhow::ensure;
use std::collections::BTreeSet;
use wakelab_report::compare::matrix as report;
use wakelab_report::numbers::thousands;
use wakelab_study::compare::{Matrix, MatrixComparison, compare_matrix};
use wakelab_study::verdict::{Verdict, matrix_verdicts};

/// The most runs that are made without `--yes`.
const RUNS_MAX: usize = 1000;

/// Simulates and prints a matrix.
pub fn simulate_matrix(matrix: &Matrix, out: Option<&OutFile>, flags: &SimulationFlags) -> anyhow::Result<Exit> {
    let runs = matrix.runs();
    ensure!(
        runs <= RUNS_MAX || flags.yes,
        "this takes {} runs, more than {}\n  hint: --dry-run says about how long they take, --yes runs them",
        thousands(runs as u64),
        thousands(RUNS_MAX as u64)
    );
    let html = flags.html.open()?;
    let Some(found) = found(matrix, &flags.cache, &flags.jobs)? else { return Ok(Exit::RunFailed) };
    let verdicts = matrix_verdicts(&found);
    let done: usize = found.comparisons.iter().map(|comparison| comparison.rows.len()).sum();
    let mut failed = false;
    if done > 0 || !found.failed.is_empty() {
        deliver(out, &render(&found, &verdicts, flags.format), flags.format == ResultFormat::Json)?;
    }
    if done > 0 {
        if let Some(html) = html {
            html.write(wakelab_report::html::matrix(&found, &verdicts, &command_line()))?;
        }
        if let Some(condition) = flags.fail_if {
            for (name, verdict) in found.variants.iter().zip(&verdicts) {
                let fails = condition.holds(verdict);
                say_condition(condition, name, verdict, fails);
                failed |= fails;
            }
        }
    }
    say_failed(&found);
    if found.complete && !found.failed.is_empty() {
        return Ok(Exit::RunFailed);
    }
    if found.complete {
        return Ok(if failed { Exit::Failed } else { Exit::Done });
    }
    tell(format_args!("interrupted: {done} of {} rows are complete", matrix.rows()));
    Ok(Exit::Interrupted)
}

/// Says of which cases schedulers have no result.
pub(super) fn say_failed(found: &MatrixComparison) {
    const SHOWN: usize = 4;
    found.failed.iter().take(SHOWN).for_each(|row| say_error(format_args!("{}: {}", row.side, row.failed)));
    if found.failed.len() > SHOWN {
        say_error(format_args!("and {} more; the result lists all", found.failed.len() - SHOWN));
    }
}

/// Makes the runs of a matrix that are not kept. Prints the error of a run that failed, and returns `None` then.
pub fn found(matrix: &Matrix, cache: &CacheFlags, jobs: &JobsFlag) -> anyhow::Result<Option<MatrixComparison>> {
    let stop = stop_flag();
    let found = CachedSimulator::open(cache)?.fenced().with(|runner| {
        let bar = RunBar::new();
        let found = compare_matrix(runner, matrix, jobs.jobs(), &bar, stop);
        bar.finish();
        found
    });
    Ok(found.map_err(say_error).ok())
}

/// Fails if a flag is given that only works for two sides.
pub(super) fn only_what_has_room(flags: &SimulationFlags) -> anyhow::Result<()> {
    let asked =
        [(flags.events.is_some(), "--events"), (flags.perfetto.is_some(), "--perfetto"), (flags.regret, "--regret")];
    let asked = asked.into_iter().find_map(|(asked, flag)| asked.then_some(flag)).or(trust::asked_for(flags));
    match asked {
        None => Ok(()),
        Some(flag) => Err(anyhow::anyhow!(
            "{flag}: works for two sides only, and there are more here\n  hint: compare only the two that interest \
             you; finished runs are kept"
        )),
    }
}

/// What is not used of machines that were fitted.
pub(super) fn fitted(matrix: &Matrix) -> Vec<String> {
    let fitted = matrix.blocks.iter().map(|block| &block.machine).filter(|machine| machine.ensemble.is_some());
    let names: BTreeSet<&str> = fitted.map(|machine| machine.name.as_str()).collect();
    let warning = |name| {
        format!(
            "machine {name} was fitted: with more than two sides, only the first set of its constants is used; two \
             sides are compared with all"
        )
    };
    names.into_iter().map(warning).collect()
}

fn render(found: &MatrixComparison, verdicts: &[Verdict<'_>], format: ResultFormat) -> String {
    match format {
        ResultFormat::Lkml => report::lkml(found, verdicts),
        ResultFormat::Table => report::table(found, verdicts),
        ResultFormat::Json => format!("{:#}\n", report::json(found, verdicts)),
        ResultFormat::Csv => report::csv(found, verdicts),
    }
}
