//! The page of a comparison.

mod changes;
mod pictures;
mod power;
mod regret;
mod search;

use super::machine::machine;
use crate::VERSION;
use crate::compare::states_text;
use crate::numbers::thousands;
use std::collections::BTreeSet;
use wakelab_page::{Assumed, Error, Feature, Kind, Page, Run, Side as PageSide, render};
use wakelab_study::compare::{CompareRow, Comparison};
use wakelab_study::picture::Pictures;

const BASE: &str = "base";
const WITH: &str = "with";

/// Loads of several cases are told apart by them.
fn load(found: &Comparison, row: &CompareRow) -> String {
    let alone = found.rows.iter().all(|other| (&other.benchmark, &other.case) == (&row.benchmark, &row.case));
    if alone { row.load.clone() } else { format!("{} {}", row.case, row.load) }
}

/// The page, with what was seen of the first repeats; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn comparison(found: &Comparison, seen: &Pictures, command: &str) -> Result<String, Error> {
    let info = &found.experiment;
    let switches = |text: &str| if text.is_empty() { "no switches".to_owned() } else { text.to_owned() };
    let mut page = Page {
        title: format!("{} against {}", switches(&info.with), switches(&info.base)),
        lead: format!("{} on {}, kernel {}. Simulated.", info.workloads.join(", "), info.machine, info.kernel),
        run: Run {
            command: command.to_owned(),
            version: VERSION.to_owned(),
            kind: Kind::Simulated,
            kernel: info.kernel.clone(),
            machine: info.machine.clone(),
            workload: info.workloads.join(", "),
            facts: facts(found),
        },
        sides: sides(found),
        machine: Some(machine(&found.machine.name, &found.machine.topology)),
        comparison: Some(changes::changes(found)),
        search: search::search(found),
        search_cost: search::costs(found),
        regret: regret::regret(found),
        sections: power::power(found).into_iter().collect(),
        notes: notes(found),
        assumed: found.assumed.iter().map(assumed).collect(),
        ..Page::default()
    };
    pictures::pictures(&mut page, found, seen);
    render(&page)
}

fn facts(found: &Comparison) -> Vec<(String, String)> {
    let info = &found.experiment;
    let ms = |ns: u64| format!("{} ms", thousands(ns / 1_000_000));
    let mut facts = vec![
        ("repeats on each side".to_owned(), info.repeats.to_string()),
        ("seed".to_owned(), info.seed.to_string()),
        ("simulated before measuring".to_owned(), ms(info.settle_ns)),
        ("measured".to_owned(), ms(info.time_ns)),
    ];
    if info.observer_cost_ns > 0 {
        facts.push(("a tracer at each select_idle_cpu()".to_owned(), format!("{} ns", info.observer_cost_ns)));
    }
    facts
}

/// With every feature that is on for either.
fn sides(found: &Comparison) -> Vec<PageSide> {
    let (base, with) = found.rows.first().map_or((&[][..], &[][..]), |row| (&row.base.features, &row.with.features));
    let all: BTreeSet<&str> = base.iter().chain(with).copied().collect();
    let side = |name: &str, switches: &str, features: &[&str]| PageSide {
        name: name.to_owned(),
        switches: switches.to_owned(),
        features: all.iter().map(|name| Feature { name: (*name).to_owned(), on: features.contains(name) }).collect(),
    };
    let info = &found.experiment;
    vec![side(BASE, &info.base, base), side(WITH, &info.with, with)]
}

fn notes(found: &Comparison) -> Vec<String> {
    let mut notes = vec![
        "All numbers are simulated: they say what the model does, not what a machine did. docs/validation.md says how far \
         the model is from published results."
            .to_owned(),
    ];
    if !found.complete {
        notes.push("The comparison was interrupted: rows are missing.".to_owned());
    }
    notes.extend(states_text(found).lines().map(str::to_owned));
    notes
}

pub(super) fn assumed(of: &wakelab_study::compare::Assumed) -> Assumed {
    Assumed {
        of: of.of.clone(),
        name: of.name.clone(),
        value: format!("{} {}", thousands(of.value), of.unit),
        range: format!("{} to {} {}", thousands(of.low), thousands(of.high), of.unit),
        why: of.why.clone(),
    }
}
