//! Pages of explanations: of single wake-ups, and of how often each reason decides.

use super::Read;
use super::wakeups::{all_reasons, reasons, row_name, told, why_there};
use super::{TEXT, n, table, text};
use crate::numbers::{count, thousands};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_page::{Error, Explained as Told, Place, Section, Side, limits, render};
use wakelab_sched::select::Reason;
use wakelab_study::SourceKinds;
use wakelab_study::recordings::explain::Explained;
use wakelab_study::recordings::summary::{Group, Summary};

/// So many wake-ups are explained on a page.
pub(super) const MOST: usize = 200;

/// One explanation for a page.
#[derive(Debug)]
pub struct Piece {
    told: Told,
    reason: Reason,
    simulated: bool,
}

impl Piece {
    /// Of a wake-up.
    pub fn of(explained: &Explained<'_>) -> Self {
        let why = explained.wait_ns.map(|ns| format!("It ran {} us after the wake-up.", thousands(ns / 1000)));
        Piece {
            told: told(&row_name(explained), why.unwrap_or_default(), explained),
            reason: explained.decision.reason,
            simulated: explained.row.simulated,
        }
    }
}

/// Explanations for a page, as they are printed. It keeps the first 200.
#[derive(Debug, Default)]
pub struct Explanations {
    told: Vec<Told>,
    all: u64,
    reasons: BTreeMap<Reason, u64>,
    kinds: SourceKinds,
}

impl Explanations {
    /// Takes one more wake-up.
    pub fn add(&mut self, explained: &Explained<'_>) {
        self.count(explained.decision.reason, explained.row.simulated);
        if self.told.len() < MOST {
            self.told.push(Piece::of(explained).told);
        }
    }

    /// Takes one more that was made before.
    pub fn take(&mut self, piece: Piece) {
        self.count(piece.reason, piece.simulated);
        if self.told.len() < MOST {
            self.told.push(piece.told);
        }
    }

    fn count(&mut self, reason: Reason, simulated: bool) {
        self.all += 1;
        *self.reasons.entry(reason).or_default() += 1;
        self.kinds.simulated |= simulated;
        self.kinds.recorded |= !simulated;
    }

    /// The page.
    ///
    /// # Errors
    /// Where there is more than a page takes.
    pub fn page(self, read: &Read<'_>) -> Result<String, Error> {
        let all = count(self.all, "wake-up");
        let lead = match self.told.len() as u64 {
            shown if shown < self.all => format!("{} The first {shown} of {all} are shown.", why_there(&self.reasons)),
            _ => why_there(&self.reasons),
        };
        let mut page = read.page(format!("{all} explained"), lead, self.kinds);
        let met = all_reasons(std::iter::once(&self.reasons));
        page.reasons.extend(reasons("explained", &Place::default(), &self.reasons, &met));
        page.sides.push(Side { name: "explained".to_owned(), ..Side::default() });
        page.explained = self.told;
        if self.all == 0 {
            page.notes.push("No row matches.".to_owned());
        }
        render(&page)
    }
}

/// The page of a summary.
///
/// # Errors
/// Where there is more than a page takes.
pub fn summary(summary: &Summary, read: &Read<'_>) -> Result<String, Error> {
    let who = summary.kinds.who();
    let mut page =
        read.page(format!("Reasons of the decisions of {who}"), why_there(&summary.reasons()), summary.kinds);
    let met = all_reasons(summary.groups.values());
    // By kernel and load; the kinds of wake-ups are in the table.
    let mut by_load: BTreeMap<(&str, &str), BTreeMap<Reason, u64>> = BTreeMap::new();
    for (Group { kernel, load, .. }, counts) in &summary.groups {
        let sum = by_load.entry((load, kernel)).or_default();
        counts.iter().for_each(|(&reason, rows)| *sum.entry(reason).or_default() += rows);
    }
    let kernels: BTreeSet<&str> = by_load.keys().map(|(_, kernel)| *kernel).collect();
    let kernels: Vec<&str> = kernels.into_iter().take(limits::SIDES).collect();
    page.sides = kernels.iter().map(|name| Side { name: (*name).to_owned(), ..Side::default() }).collect();
    for ((load, kernel), counts) in by_load.iter().filter(|((_, kernel), _)| kernels.contains(kernel)) {
        let place = Place { case: String::new(), load: (*load).to_owned() };
        page.reasons.extend(reasons(kernel, &place, counts, &met));
    }
    page.sections.push(groups(summary, &met));
    page.notes
        .push(format!("{} left out, as their state changed while {who} decided.", count(summary.unstable, "row")));
    render(&page)
}

fn groups(summary: &Summary, met: &[Reason]) -> Section {
    let mut columns = vec![("Kernel", TEXT), ("Load", TEXT), ("Flags", TEXT), ("Wake-ups", "")];
    columns.extend(met.iter().map(|reason| (reason.name(), "")));
    let row = |(Group { kernel, load, flags }, counts): (&Group, &BTreeMap<Reason, u64>)| {
        let mut row = vec![text(*kernel), text(load.clone()), text(*flags), n(counts.values().sum())];
        row.extend(met.iter().map(|reason| n(counts.get(reason).copied().unwrap_or(0))));
        row
    };
    Section {
        id: "groups".to_owned(),
        title: "By kernel, load and kind of wake-up".to_owned(),
        paragraphs: Vec::new(),
        tables: vec![table("groups-table", "Wake-ups by reason", &columns, summary.groups.iter().map(row).collect())],
    }
}
