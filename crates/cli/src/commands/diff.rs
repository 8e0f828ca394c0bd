//! `wakelab diff`.

use super::simulate::{deliver, say_condition};
use crate::flags::{FormatFlag, OutFlag, TableFormat};
use crate::output::Exit;
use crate::progress::Bar;
use anyhow::ensure;
use std::path::{Path, PathBuf};
use wakelab_input::files;
use wakelab_report::diff as report;
use wakelab_study::diff::{Diff, ResultFile, diff_recordings, diff_results, judge};
use wakelab_study::fail_if::FailIf;
use wakelab_study::recordings::sources;

pub const EXAMPLE: &str = "\
Example:
  wakelab diff before.json after.json --fail-if worse";

/// `wakelab diff`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The first result or recording.
    ///
    /// A result is what `compare` or `run` wrote with --format json --out FILE. In a folder with several
    /// recordings, each is a repeat.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second, of the same kind.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
    /// Where it goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// Exit with 3 if this holds for B against A: 'worse > 2%'.
    ///
    /// worse: a row is worse by the verdict's rule. 'worse > N%': a row is worse by more than N%, and not by chance.
    /// 'not better': no row is better, or one is worse. Needs at least two repeats in both.
    #[arg(long, value_name = "CONDITION")]
    fail_if: Option<FailIf>,
}

/// Sets two results or recordings side by side.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    [&args.a, &args.b].into_iter().for_each(|input| files::note(input));
    let out = args.out.open()?;
    let diff = match (is_result(&args.a), is_result(&args.b)) {
        (true, true) => diff_results(&ResultFile::read(&args.a)?, &ResultFile::read(&args.b)?),
        (false, false) => recordings(&args.a, &args.b)?,
        (a_is_result, _) => {
            let (result, other) = if a_is_result { (&args.a, &args.b) } else { (&args.b, &args.a) };
            anyhow::bail!(
                "{}: a result cannot be compared with a recording, {}; expected two results or two recordings\n  hint: \
                 `wakelab whatif` simulates a recording",
                result.display(),
                other.display()
            )
        }
    };
    ensure!(
        !diff.rows.is_empty(),
        "{} and {} have no row in common; expected the same benchmarks, cases and loads",
        diff.a,
        diff.b
    );
    let verdict = judge(&diff);
    if let Some(condition) = args.fail_if {
        ensure!(
            verdict.tested() > 0 || verdict.repeats[0] > 1,
            "--fail-if {condition}: one run per side cannot tell a difference from chance\n  hint: compare with \
             --repeat 3"
        );
    }
    let json = args.format.format == TableFormat::Json;
    let text = match json {
        true => format!("{:#}\n", report::json(&diff, &verdict)),
        false => report::text(&diff, &verdict),
    };
    deliver(out.as_ref(), &text, json)?;
    let Some(condition) = args.fail_if else { return Ok(Exit::Done) };
    let failed = condition.holds(&verdict);
    say_condition(condition, "", &verdict, failed);
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Whether a path is a file of results: one that ends in .json, and is no recording's topology.
fn is_result(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn recordings(a: &Path, b: &Path) -> anyhow::Result<Diff> {
    let (found, _) = sources(&[a.to_owned(), b.to_owned()]);
    let files: Vec<PathBuf> = found.iter().flat_map(|source| source.wakeups()).collect();
    let bar = Bar::new(&files, false);
    let diff = diff_recordings(a, b, &bar);
    bar.finish();
    Ok(diff?)
}
