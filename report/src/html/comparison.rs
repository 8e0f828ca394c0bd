//! The page of a comparison.

use crate::VERSION;
use crate::compare::states_text;
use crate::numbers::thousands;
use std::collections::BTreeSet;
use wakelab_machine::Machine;
use wakelab_page::{
    Assumed, Comparison as Changes, CostBin, CpuPlace, Error, Estimate, Feature, Kind, Metric, MetricRow, Page, Run,
    SearchCost, Side as PageSide, StatPoint, Statistic, Topology, Verdict, render,
};
use wakelab_study::compare::{Better, CompareRow, Comparison, SearchRates, Side};

const BASE: &str = "base";
const WITH: &str = "with";

/// The page; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn comparison(found: &Comparison, command: &str) -> Result<String, Error> {
    let info = &found.experiment;
    let switches = |text: &str| if text.is_empty() { "no switches".to_owned() } else { text.to_owned() };
    let page = Page {
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
        machine: Some(machine(&found.machine)),
        comparison: Some(changes(found)),
        search: search(found),
        search_cost: costs(found),
        notes: notes(found),
        assumed: found.assumed.iter().map(assumed).collect(),
        ..Page::default()
    };
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

fn machine(machine: &Machine) -> Topology {
    let place = |(cpu, of): (u32, &wakelab_sched::domain::CpuTopology)| CpuPlace {
        cpu,
        package: of.package,
        node: of.node,
        die: of.die,
        llc: of.llc,
        core: of.core,
        capacity: of.capacity as u16,
    };
    Topology {
        name: machine.name.clone(),
        description: String::new(),
        cpus: (0..).zip(&machine.topology.cpus).map(place).collect(),
    }
}

/// A panel for each case and metric, in the order in which they came.
fn changes(found: &Comparison) -> Changes {
    let mut metrics: Vec<Metric> = Vec::new();
    for row in &found.rows {
        let name = format!("{} {}: {}", row.benchmark, row.case, row.metric);
        if metrics.last().is_none_or(|last| last.name != name) {
            let lower_is_better = row.better == Better::Lower;
            metrics.push(Metric { name, unit: row.unit.clone(), lower_is_better, rows: Vec::new() });
        }
        if let Some(metric) = metrics.last_mut() {
            metric.rows.push(change(row));
        }
    }
    Changes { base: BASE.to_owned(), with: WITH.to_owned(), metrics }
}

fn change(row: &CompareRow) -> MetricRow {
    let verdict = match row.ci95 {
        None => Verdict::Unknown,
        Some([low, _]) if low > 0.0 => Verdict::Better,
        Some([_, high]) if high < 0.0 => Verdict::Worse,
        Some(_) => Verdict::Same,
    };
    let mean = |side: &Side| Estimate { mean: side.mean, interval: None };
    MetricRow {
        load: row.load.clone(),
        base: mean(&row.base),
        with: mean(&row.with),
        better_pct: Estimate { mean: row.compare_pct, interval: row.ci95.map(|[low, high]| (low, high)) },
        p: row.p_value,
        repeats: row.base.n as u32,
        verdict,
        published_pct: row.published.as_ref().map(|published| published.compare_pct),
    }
}

/// A rate of a side, and of the published ones.
type Rate = (fn(&Side) -> Option<f64>, fn(&SearchRates) -> f64);

/// The statistics of the patch that introduced them, in its order.
const RATES: [(&str, &str, Rate); 4] = [
    ("se_eff", "searches that found a CPU, by look", (|side| side.search.se_eff_pct, |rates| rates.se_eff_pct)),
    (
        "dom_eff",
        "domain searches that found a CPU, by look",
        (|side| side.search.dom_eff_pct, |rates| rates.dom_eff_pct),
    ),
    ("fast_rate", "searches that a fast path ended", (|side| side.search.fast_rate_pct, |rates| rates.fast_rate_pct)),
    (
        "success_rate",
        "searches that found a CPU",
        (|side| side.search.success_rate_pct, |rates| rates.success_rate_pct),
    ),
];

fn search(found: &Comparison) -> Vec<Statistic> {
    let rate = |(name, about, (of, published)): &(&str, &str, Rate)| {
        let mut points = Vec::new();
        for row in &found.rows {
            for (side, value) in [(BASE, of(&row.base)), (WITH, of(&row.with))] {
                points.extend(value.map(|value| point(row, side, value, false)));
            }
            points.extend(row.published_search.as_ref().map(|rates| point(row, BASE, published(rates), true)));
        }
        Statistic { name: (*name).to_owned(), about: (*about).to_owned(), unit: "%".to_owned(), points }
    };
    let looks = |row: &CompareRow| {
        let of = |name, side: &Side| side.search.scanned_per_domain_search.map(|value| point(row, name, value, false));
        [of(BASE, &row.base), of(WITH, &row.with)]
    };
    let mut statistics: Vec<Statistic> = RATES.iter().map(rate).collect();
    statistics.push(Statistic {
        name: "scanned".to_owned(),
        about: "looks of a domain search".to_owned(),
        unit: String::new(),
        points: found.rows.iter().flat_map(looks).flatten().collect(),
    });
    statistics.retain(|statistic| !statistic.points.is_empty());
    statistics
}

fn point(row: &CompareRow, side: &str, value: f64, published: bool) -> StatPoint {
    StatPoint { load: load(row), side: side.to_owned(), value, interval: None, published }
}

/// Loads of several cases are told apart by them.
fn load(row: &CompareRow) -> String {
    format!("{} {}", row.case, row.load)
}

fn costs(found: &Comparison) -> Vec<SearchCost> {
    let cost = |row: &CompareRow, name: &str, side: &Side| SearchCost {
        side: name.to_owned(),
        load: load(row),
        unit: "ns".to_owned(),
        bins: bins(side),
    };
    let mut costs: Vec<_> =
        found.rows.iter().flat_map(|row| [cost(row, BASE, &row.base), cost(row, WITH, &row.with)]).collect();
    costs.retain(|cost| !cost.bins.is_empty());
    costs
}

/// Without gaps: powers of two in which no search lies have none.
fn bins(side: &Side) -> Vec<CostBin> {
    let mut bins: Vec<CostBin> = Vec::new();
    for bucket in &side.search.select_idle_cpu_ns {
        while let Some(last) = bins.last().filter(|last| last.to + 1.0 < bucket.from as f64) {
            let from = last.to + 1.0;
            bins.push(CostBin { from, to: from * 2.0 - 1.0, searches: 0 });
        }
        let (from, to) = (bucket.from as f64, bucket.below as f64 - 1.0);
        bins.push(CostBin { from, to, searches: bucket.count });
    }
    bins
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

fn assumed(of: &wakelab_study::compare::Assumed) -> Assumed {
    Assumed {
        of: of.of.clone(),
        name: of.name.clone(),
        value: format!("{} {}", thousands(of.value), of.unit),
        range: format!("{} to {} {}", thousands(of.low), thousands(of.high), of.unit),
        why: of.why.clone(),
    }
}
