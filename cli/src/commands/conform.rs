//! `wakelab conform`.

use super::{all_errors, decider, exit, recordings};
use crate::args::{Conform, TableFormat};
use crate::html::{HtmlFile, command_line};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_report::html::Read;
use wakelab_study::ablation::ablate;
use wakelab_study::conform::conform;
use wakelab_study::recordings::machines;

/// Compares, or counts what each rule is worth.
pub fn run(args: &Conform) -> anyhow::Result<Exit> {
    if args.ablate { ablation(args) } else { compare(args) }
}

fn compare(args: &Conform) -> anyhow::Result<Exit> {
    let html = HtmlFile::of(args.html.as_deref())?;
    let decider = decider(args.with.as_ref())?;
    let (files, errors) = recordings(&args.files);
    let bar = Bar::new(&files, false);
    let (conformance, outcomes) = conform(&files, &decider, args.limit, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = &html {
        let (command, machines) = (command_line(), machines(&files));
        let read = Read { command: &command, files: files.len(), machines: &machines, errors: &errors };
        let total = conformance.total();
        html.write_if(total.rows + conformance.unstable > 0, || report::html::conform(&conformance, &decider, &read))?;
    }
    match args.format {
        // Nothing could be read: the errors say all there is.
        TableFormat::Table if conformance.total().rows == 0 && !errors.is_empty() => {}
        TableFormat::Table => print(&report::conform::text(&conformance, &decider, files.len()))?,
        TableFormat::Json => print_json(&report::conform::json(&conformance, &decider, files.len(), &errors))?,
    }
    say_errors(&errors);
    let total = conformance.total();
    // With features switched a difference is the answer, not a fault.
    Ok(exit(&errors, decider.is_as_recorded() && total.agree < total.rows))
}

fn ablation(args: &Conform) -> anyhow::Result<Exit> {
    let (files, errors) = recordings(&args.files);
    let bar = Bar::new(&files, false);
    let (ablation, outcomes) = ablate(&files, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    match args.format {
        TableFormat::Table => print(&report::ablation::rules_text(&ablation))?,
        TableFormat::Json => print_json(&report::ablation::rules_json(&ablation))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
