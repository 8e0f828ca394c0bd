//! `wakelab conform`.

use super::{all_errors, decider, exit, with_read};
use crate::flags::{FormatFlag, HtmlFlag, RecordingFiles, TableFormat, WithFlag};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_study::recordings::ablation::ablate;
use wakelab_study::recordings::balance_passes::{BalanceConformance, conform_balance};
use wakelab_study::recordings::conform::conform;
use wakelab_study::recordings::decision_files;
use wakelab_study::recordings::wakeup_preempt::{PreemptConformance, conform_preempts};

pub const EXAMPLE: &str = "\
Example:
  wakelab conform data/recordings/6.12-C-hb.csv.gz";

/// `wakelab conform`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is read.
    #[command(flatten)]
    pub recordings: RecordingFiles,
    /// The features.
    #[command(flatten)]
    with: WithFlag,
    /// Explain N of the rows that differ.
    #[arg(long = "disagreements", visible_alias = "limit", value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Show what each rule and input of the model is worth.
    ///
    /// Prints instead how many decisions no longer match when it is made wrong.
    #[arg(long, conflicts_with_all = ["with", "html"])]
    ablate: bool,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
}

/// Compares, or counts what each rule is worth.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.ablate { ablation(args) } else { compare(args) }
}

fn compare(args: &Args) -> anyhow::Result<Exit> {
    let decider = decider(args.with.with.as_ref())?;
    let (files, errors) = decision_files(&args.recordings.files);
    let html = args.html.open()?;
    let bar = Bar::new(&files, false);
    let (conformance, outcomes) = conform(&files, &decider, args.limit, &bar);
    bar.finish();
    let mut errors = all_errors(errors, outcomes);
    // Features switched change other decisions before a preemption or a pass of the balancer, so that its queues would
    // be others.
    let (preempts, balance) = if decider.is_as_recorded() {
        let (preempts, more) = conform_preempts(&args.recordings.files, args.limit);
        errors.extend(more);
        let (balance, more) = conform_balance(&args.recordings.files, args.limit);
        errors.extend(more);
        (preempts, balance)
    } else {
        (PreemptConformance::default(), BalanceConformance::default())
    };
    if let Some(html) = &html {
        let total = conformance.total();
        with_read(files.len(), &files, &errors, |read| {
            let any = total.rows + conformance.unstable > 0;
            html.write_if(any, || report::html::conform(&conformance, &decider, read))
        })?;
    }
    match args.format.format {
        // Nothing could be read, and the errors say why.
        TableFormat::Table if conformance.total().rows == 0 && !errors.is_empty() => {}
        TableFormat::Table => {
            let mut text = report::conform::text(&conformance, &decider, files.len());
            if preempts.any() {
                text += "\n";
                text += &report::wakeup_preempt::text(&preempts);
            }
            if balance.any() {
                text += "\n";
                text += &report::balance_passes::text(&balance);
            }
            print(&text)?;
        }
        TableFormat::Json => {
            let mut value = report::conform::json(&conformance, &decider, files.len(), &errors);
            if preempts.any() {
                value["preempts"] = report::wakeup_preempt::json(&preempts);
            }
            if balance.any() {
                value["balance"] = report::balance_passes::json(&balance);
            }
            print_json(&value)?;
        }
    }
    say_errors(&errors);
    let total = conformance.total();
    // With features switched, a difference is the answer and no fault.
    let (preempt, passes) = (preempts.total().scored, balance.total().scored);
    let differs = decider.is_as_recorded() && total.agree < total.rows
        || preempt.equal < preempt.rows
        || passes.equal < passes.rows;
    Ok(exit(&errors, if differs { Exit::Differs } else { Exit::Done }))
}

fn ablation(args: &Args) -> anyhow::Result<Exit> {
    let (files, errors) = decision_files(&args.recordings.files);
    let bar = Bar::new(&files, false);
    let (ablation, outcomes) = ablate(&files, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    match args.format.format {
        TableFormat::Table => print(&report::ablation::rules_text(&ablation))?,
        TableFormat::Json => print_json(&report::ablation::rules_json(&ablation))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, Exit::Done))
}
