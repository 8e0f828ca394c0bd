//! What a scheduler of sched_ext did: where its tasks went, what its operations took, what it counted itself.

use super::{named, place};
use crate::compare::{OF_CORE, core_counters, own_counters};
use crate::html::{TEXT, opt, table, text};
use wakelab_page::{Cell, Place, Section, Table};
use wakelab_study::compare::{Comparison, Side};

/// `None` if no side has a scheduler.
pub(super) fn scheduler(found: &Comparison) -> Option<Section> {
    let of_row = |row| {
        let Place { case, load } = place(found, row);
        let place = format!("{case} {load}").trim().to_owned();
        named(found, row).map(|(name, side)| (place.clone(), name, side))
    };
    let with: Vec<(String, String, &Side)> =
        found.rows.iter().flat_map(of_row).filter(|(.., side)| !side.scheduler.is_empty()).collect();
    if with.is_empty() {
        return None;
    }
    Some(Section {
        id: "scheduler".to_owned(),
        title: "What the scheduler did".to_owned(),
        paragraphs: vec![
            "Counts are of a whole run, mean over repeats. The time of a call is in ns at full speed, with waits for \
             the locks of queues, and without operations that it calls in turn."
                .to_owned(),
            "Which operation put a task where, and behind whom it waited: keep the events of the runs (--events), and \
             ask `wakelab explain` and `wakelab waits`."
                .to_owned(),
        ],
        tables: vec![went(&with), operations(&with)].into_iter().chain(own(&with)).collect(),
    })
}

fn named_columns<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&[("Row", TEXT), ("Side", TEXT)], more].concat()
}

fn went(with: &[(String, String, &Side)]) -> Table {
    let rows = with.iter().map(|(place, name, side)| {
        let counts = core_counters(side).map(|mean| opt(mean, 0));
        [text(place.clone()), text(name.clone())].into_iter().chain(counts).collect()
    });
    let columns = named_columns(&OF_CORE.map(|(_, heading)| (heading, "")));
    table("scheduler-table", "Where sched_ext put tasks", &columns, rows.collect())
}

fn operations(with: &[(String, String, &Side)]) -> Table {
    let rows = with.iter().flat_map(|(place, name, side)| {
        side.scheduler_ops.iter().filter_map(move |time| {
            let numbers = [Cell::Number(time.calls, 0), Cell::Number(time.mean_ns?, 0)];
            let names = [place.clone(), name.clone(), time.op.clone()];
            Some(names.map(text).into_iter().chain(numbers).collect())
        })
    });
    let columns = named_columns(&[("Operation", TEXT), ("Calls", ""), ("Time of a call", "ns")]);
    table("operations-table", "Calls of its operations", &columns, rows.collect())
}

fn own(with: &[(String, String, &Side)]) -> Option<Table> {
    let of_side = |(place, name, side): &(String, String, &Side)| -> Vec<Vec<Cell>> {
        let row = |(counter, mean): (&str, f64)| {
            let names = [place.clone(), name.clone(), counter.to_owned()];
            names.map(text).into_iter().chain([Cell::Number(mean, 0)]).collect()
        };
        own_counters(side).map(row).collect()
    };
    let rows: Vec<Vec<Cell>> = with.iter().flat_map(of_side).collect();
    let columns = named_columns(&[("Counter", TEXT), ("Count", "")]);
    (!rows.is_empty()).then(|| table("counters-table", "What it counted itself", &columns, rows))
}
