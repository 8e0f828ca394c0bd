//! One run over time, as charts.

use std::collections::BTreeMap;
use wakelab_measure::{State, StateChange};
use wakelab_page::{Flip, Heat, LlcPoint, LlcSeries, Migrations, Page, Place, Series, Shape, Timeline, limits};
use wakelab_study::recordings::over_time::{CpuState, OverTime};

/// So many packages have a line in the charts of frequencies and of power.
const PACKAGES: usize = 16;

/// A run of one side.
pub(super) struct SideOverTime<'a> {
    pub(super) side: &'a str,
    pub(super) over_time: &'a OverTime,
    /// Times are shown from this one on, ns.
    pub(super) zero_ns: u64,
    pub(super) changes: &'a [StateChange],
    /// By the lowest CPU of a cache: its name.
    pub(super) llc_names: &'a BTreeMap<u32, String>,
    /// Names of idle states.
    pub(super) idle_states: &'a [String],
}

/// Puts its charts on the page, beside those of other sides.
pub(super) fn add_charts(page: &mut Page, run: &SideOverTime<'_>) {
    if let Some(heat) = &run.over_time.heat
        && page.heat.len() < limits::HEATS
    {
        let [start_ms, end_ms] = [heat.start_ms, heat.end_ms].map(|ms| ms - run.zero_ns as f64 / 1e6);
        page.heat.push(Heat { side: run.side.to_owned(), start_ms, end_ms, ..heat.clone() });
    }
    page.llcs.extend(caches(run));
    let frequency = || Timeline {
        title: "Frequency".to_owned(),
        about: "Frequency is the mean of the CPUs that run tasks.".to_owned(),
        value: "Frequency".to_owned(),
        unit: "MHz".to_owned(),
        shape: Shape::Step,
        series: Vec::new(),
    };
    add_series(page, run, frequency, of_packages(&run.over_time.frequency));
    let states = || Timeline {
        title: "Idle states".to_owned(),
        about: "Idle states are shares of the time of all CPUs, that in which they ran tasks included.".to_owned(),
        value: "Share of the time".to_owned(),
        unit: "%".to_owned(),
        shape: Shape::Stacked,
        series: Vec::new(),
    };
    let series = run.over_time.states.iter().map(|(state, points)| (state_name(*state, run.idle_states), points));
    add_series(page, run, states, series.collect());
    let power = || Timeline {
        title: "Power".to_owned(),
        about: "Power is the mean of each package with its cores and clusters, from one jiffy to the next.".to_owned(),
        value: "Power".to_owned(),
        unit: "W".to_owned(),
        shape: Shape::Line,
        series: Vec::new(),
    };
    let watts = |points: &Vec<(u64, f64)>| points.iter().map(|&(at, mw)| (at, mw / 1e3)).collect();
    let watts = run.over_time.power.iter().map(|(&package, points)| (package, watts(points))).collect();
    add_series(page, run, power, of_packages(&watts));
}

/// What the charts show of each package, by its name if there are several.
fn of_packages(all: &BTreeMap<u32, Vec<(u64, f64)>>) -> Vec<(String, &Vec<(u64, f64)>)> {
    let label = |package: &u32| if all.len() > 1 { format!("package {package}") } else { String::new() };
    all.iter().take(PACKAGES).map(|(package, points)| (label(package), points)).collect()
}

fn add_series(
    page: &mut Page,
    run: &SideOverTime<'_>,
    new: impl FnOnce() -> Timeline,
    series: Vec<(String, &Vec<(u64, f64)>)>,
) {
    if series.is_empty() {
        return;
    }
    let empty = new();
    let at = page.timelines.iter().position(|timeline| timeline.title == empty.title).unwrap_or_else(|| {
        page.timelines.push(empty);
        page.timelines.len() - 1
    });
    let points = |points: &[(u64, f64)]| points.iter().map(|&(at, value)| (ms(run, at), value)).collect();
    let side = || run.side.to_owned();
    page.timelines[at].series.extend(series.into_iter().map(|(label, of)| Series {
        side: side(),
        label,
        points: points(of),
    }));
}

/// ms of the run, to a ns.
fn ms(run: &SideOverTime<'_>, ns: u64) -> f64 {
    (ns as i64 - run.zero_ns as i64) as f64 / 1e6
}

fn caches(run: &SideOverTime<'_>) -> Vec<LlcSeries> {
    let flip = |change: &StateChange| Flip {
        at_ms: ms(run, change.at_ns),
        what: match change.state {
            State::Migrating => "to migrating".to_owned(),
            State::Stacked => "to stacked".to_owned(),
        },
    };
    let flips: Vec<Flip> = run.changes.iter().map(flip).collect();
    let series = run.over_time.caches.iter().map(|(cpu, points)| LlcSeries {
        side: run.side.to_owned(),
        llc: run.llc_names.get(cpu).cloned().unwrap_or_else(|| format!("of CPU {cpu}")),
        points: points
            .iter()
            .map(|at| LlcPoint { at_ms: ms(run, at.t_ns), util_pct: at.util_pct, nr_idle_scan: at.nr_idle_scan })
            .collect(),
        flips: flips.clone(),
    });
    series.collect()
}

fn state_name(state: CpuState, names: &[String]) -> String {
    match state {
        CpuState::Running => "running".to_owned(),
        CpuState::Idle(None) => "idle, no state".to_owned(),
        CpuState::Idle(Some(state)) => {
            names.get(state as usize).cloned().unwrap_or_else(|| format!("idle state {state}"))
        }
    }
}

/// From cache to cache; `None` where there is one only, or more than a matrix takes.
pub(super) fn migrations(side: &str, Place { case, load }: &Place, over_time: &OverTime) -> Option<Migrations> {
    let llcs = &over_time.llcs;
    if over_time.moved.is_empty() || llcs.len() < 2 || llcs.len() > limits::MATRIX_LLCS {
        return None;
    }
    let cell = |from: u32, to: u32| over_time.moved.get(&(from, to)).copied().unwrap_or(0);
    Some(Migrations {
        side: side.to_owned(),
        case: case.clone(),
        load: load.clone(),
        llcs: llcs.iter().map(u32::to_string).collect(),
        wakeups: llcs.iter().map(|&from| llcs.iter().map(|&to| cell(from, to)).collect()).collect(),
    })
}
