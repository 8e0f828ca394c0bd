//! Results as one HTML page: what goes where. How it is drawn is `wakelab_page`'s.

mod comparison;
mod conform;
mod explain;
mod machine;
mod matrix;
mod over_time;
mod replay;
mod reproduce;
mod scx_wakeups;
mod stats;
mod waits;
mod wakeups;
mod whatif;

pub use comparison::comparison;
pub use conform::conform;
pub use explain::{Explanations, Piece, summary};
pub use matrix::{matrix, survey};
pub use replay::replay;
pub use reproduce::reproduce;
pub use scx_wakeups::ScxExplanations;
pub use stats::stats;
pub use waits::waits;
pub use wakelab_page::Error;
pub use whatif::whatif;

use crate::VERSION;
use machine::recorded;
use std::collections::BTreeSet;
use std::sync::Arc;
use wakelab_events::{ReadError, TopoFile};
use wakelab_page::{Align, Cell, Column, Kind, Page, Run, Table, colour, limits};
use wakelab_study::SourceKinds;

/// So many names are written out.
const NAMES: usize = 6;

/// The sources that were read.
#[derive(Clone, Copy, Debug)]
pub struct Read<'a> {
    /// The command that makes the page again.
    pub command: &'a str,
    /// How many files or sources.
    pub files: usize,
    /// Machines and kernels of those with decisions.
    pub machines: &'a [Arc<TopoFile>],
    /// The errors of sources that could not be read to their end.
    pub errors: &'a [ReadError],
}

impl Read<'_> {
    /// A page with what is known before anything is counted.
    fn page(&self, title: String, lead: String, kinds: SourceKinds) -> Page {
        let kind = match kinds.name() {
            Some("both") => Kind::Both,
            Some("simulated") => Kind::Simulated,
            _ => Kind::Measured,
        };
        let one = match self.machines {
            [first, rest @ ..] if rest.iter().all(|topo| topo.topology == first.topology) => Some(first),
            _ => None,
        };
        let drawn = one.filter(|topo| topo.domains.nr_cpus as usize <= limits::CPUS);
        let error = |error: &ReadError| format!("Not read to its end: {error}");
        Page {
            title,
            lead,
            run: Run {
                command: self.command.to_owned(),
                version: VERSION.to_owned(),
                kind,
                kernel: names(self.machines.iter().map(|topo| topo.release.as_str())),
                machine: names(self.machines.iter().map(|topo| topo.topology.as_str())),
                workload: String::new(),
                facts: vec![("files or folders read".to_owned(), self.files.to_string())],
            },
            machine: drawn.map(|topo| recorded(topo)),
            notes: self.errors.iter().map(error).collect(),
            ..Page::default()
        }
    }
}

/// Different names, or how many there are.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let different: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    match different.len() {
        n if n > NAMES => format!("{n} different"),
        _ => different.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// A table; each column has a title and a unit, and those whose unit is [`TEXT`] hold texts.
fn table(id: &str, caption: &str, columns: &[(&str, &str)], rows: Vec<Vec<Cell>>) -> Table {
    let column = |(title, unit): &(&str, &str)| Column {
        title: (*title).to_owned(),
        unit: if *unit == TEXT { String::new() } else { (*unit).to_owned() },
        align: if *unit == TEXT { Align::Left } else { Align::Right },
        key: colour::key(title).is_some(),
    };
    Table { id: id.to_owned(), caption: caption.to_owned(), columns: columns.iter().map(column).collect(), rows }
}

/// The unit of texts.
const TEXT: &str = "text";

/// A count.
fn n(count: u64) -> Cell {
    Cell::Number(count as f64, 0)
}

/// A number that may be absent.
fn opt(number: Option<f64>, decimals: u8) -> Cell {
    number.map_or(Cell::Empty, |number| Cell::Number(number, decimals))
}

/// A part of a whole, %; nothing where there is no whole.
fn share(part: u64, whole: u64) -> Cell {
    opt((whole > 0).then(|| 100.0 * part as f64 / whole as f64), 1)
}

/// A text.
fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A reason or a cause, with its colour.
fn key(name: &str) -> Cell {
    Cell::Key(name.to_owned())
}

/// Above this many characters a side is called by its first switch alone.
const LONGEST_NAME: usize = 28;

/// What a side without any switch is called.
const KERNELS_OWN: &str = "kernel\u{2019}s own";

/// What two sides are called: the switches in which they differ, and where those are many the first of them with their
/// number. A side without any is the kernel's own setting.
fn side_names(base: &str, with: &str) -> [String; 2] {
    let (of_base, of_with) = (switches(base), switches(with));
    let name = |mine: &[&str], other: &[&str]| {
        let own: Vec<&str> = mine.iter().filter(|one| !other.contains(one)).copied().collect();
        match &own[..] {
            [] if mine.is_empty() => KERNELS_OWN.to_owned(),
            [] => short_name(mine),
            own => short_name(own),
        }
    };
    let names = [name(&of_base, &of_with), name(&of_with, &of_base)];
    match &names {
        [one, other] if one == other => [format!("{one}, base"), format!("{one}, other")],
        _ => names,
    }
}

/// The switches of a side as it was written.
fn switches(side: &str) -> Vec<&str> {
    side.split(',').map(str::trim).filter(|one| !one.is_empty()).collect()
}

fn short_name(switches: &[&str]) -> String {
    let all = switches.join(", ");
    match switches {
        [first, rest @ ..] if all.chars().count() > LONGEST_NAME && !rest.is_empty() => {
            format!("{first} and {} more", rest.len())
        }
        _ => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_page::colour::{CAUSES, Family, REASONS};
    use wakelab_sched::select::Reason;
    use wakelab_study::recordings::waits::Cause;

    #[test]
    fn sides_are_called_by_what_they_differ_in() {
        assert_eq!(side_names("SIS_PROP", "SIS_UTIL"), ["SIS_PROP", "SIS_UTIL"]);
        assert_eq!(side_names("", "NO_SIS_UTIL"), ["kernel\u{2019}s own", "NO_SIS_UTIL"]);
        assert_eq!(
            side_names("governor=schedutil,max_freq=1C", "governor=performance,max_freq=1C"),
            ["governor=schedutil", "governor=performance"]
        );
        assert_eq!(side_names("A", "A,B"), ["A", "B"]);
        let long = "NO_RUNNABLE_BOOST,UTIL_EST_FASTER,NO_UTIL_EST_FASTER_LB";
        assert_eq!(side_names("NO_RUNNABLE_BOOST", long)[1], "UTIL_EST_FASTER and 1 more");
        assert_eq!(side_names("A", "A"), ["A, base", "A, other"]);
    }

    #[test]
    fn every_reason_has_a_colour_of_its_family() {
        for reason in Reason::ALL {
            let key = REASONS.iter().find(|key| key.name == reason.name());
            let key = key.unwrap_or_else(|| panic!("{reason} has no colour"));
            assert_eq!(key.family == Family::FallBack, reason.is_failed_search(), "{reason}");
        }
        assert_eq!(REASONS.len(), Reason::ALL.len());
    }

    #[test]
    fn every_cause_has_a_colour() {
        let names = |cause: Cause| CAUSES.iter().any(|key| key.name == cause.name());
        assert!(Cause::ALL.into_iter().all(names) && CAUSES.len() == Cause::ALL.len());
    }
}
