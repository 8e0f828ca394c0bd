//! Power and residencies, with turbostat's names.

use super::{named, place};
use crate::compare::{WATTS, power_quantity};
use wakelab_page::{Align, Cell, Column, Estimate, Metric, MetricRow, Place, Section, Table, Verdict};
use wakelab_study::compare::{CompareRow, Comparison, KindSummary, PowerDifference, PowerSummary};

/// A state in which less of the time was spent, %, is not shown.
const SHOWN_PCT: f64 = 0.05;

/// The row, the side, and its power.
type Governed = (String, String, PowerSummary);

/// What the sides take, against each other; empty if the machine does not describe its power.
pub(super) fn differences(found: &Comparison) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for row in &found.rows {
        for of in PowerDifference::of(row) {
            let name = format!("{} {}: {}", row.benchmark, row.case, power_quantity(row, &of));
            let at = metrics.iter().position(|metric| metric.name == name).unwrap_or_else(|| {
                let (case, unit) = (place(found, row).case, of.unit.to_owned());
                metrics.push(Metric { name, case, unit, lower_is_better: true, rows: Vec::new() });
                metrics.len() - 1
            });
            let mean = |mean| Estimate { mean, interval: None };
            metrics[at].rows.push(MetricRow {
                load: row.load.clone(),
                base: mean(of.base),
                with: mean(of.with),
                better_pct: Estimate { mean: of.compare_pct, interval: of.ci95.map(|[low, high]| (low, high)) },
                noise_pct: None,
                p: of.p_value,
                repeats: row.base.n as u32,
                verdict: Verdict::Unjudged,
                published_pct: None,
            });
        }
    }
    metrics
}

/// `None` where nothing was governed.
pub(super) fn power(found: &Comparison) -> Option<Section> {
    let of_row = |row: &CompareRow| {
        let Place { case, load } = place(found, row);
        let place = format!("{case} {load}").trim().to_owned();
        named(found, row).map(|(name, side)| Some((place.clone(), name, side.power.clone()?)))
    };
    let all: Vec<Governed> = found.rows.iter().flat_map(of_row).flatten().collect();
    (!all.is_empty()).then(|| Section {
        id: "energy".to_owned(),
        title: "Energy and residency".to_owned(),
        paragraphs: vec!["Means over repeats, with turbostat's names.".to_owned(), WATTS.trim().to_owned()],
        tables: vec![numbers(&all), residency(&all)],
    })
}

fn column(title: &str, unit: &str, align: Align) -> Column {
    Column { title: title.to_owned(), unit: unit.to_owned(), align, key: false }
}

fn names() -> Vec<Column> {
    vec![column("Row", "", Align::Left), column("Side", "", Align::Left)]
}

fn numbers(all: &[Governed]) -> Table {
    let units = [
        ("Busy%", "%"),
        ("Bzy_MHz", "MHz"),
        ("IRQ", "1/s"),
        ("Idle wake-ups", "1/s"),
        ("All", "mW"),
        ("Cores", "mW"),
        ("Clusters", "mW"),
        ("Packages", "mW"),
        ("Energy", "mJ"),
    ];
    let mut columns = names();
    columns.extend(units.map(|(title, unit)| column(title, unit, Align::Right)));
    let row = |(load, side, power): &Governed| {
        let known = |value: Option<f64>, digits| value.map_or(Cell::Empty, |value| Cell::Number(value, digits));
        vec![
            Cell::Text(load.clone()),
            Cell::Text(side.clone()),
            Cell::Number(power.busy_pct, 2),
            Cell::Number(power.bzy_mhz, 0),
            Cell::Number(power.irq_per_s, 0),
            Cell::Number(power.idle_wakeups_per_s, 0),
            known(power.total_mw, 0),
            known(power.cores_mw, 0),
            known(power.clusters_mw, 0),
            known(power.packages_mw, 0),
            known(power.energy_j.map(|joule| joule * 1e3), 1),
        ]
    };
    let caption = "Power beside performance".to_owned();
    Table { id: "energy-table".to_owned(), caption, columns, rows: all.iter().map(row).collect() }
}

fn residency(all: &[Governed]) -> Table {
    let mut columns = names();
    columns.push(column("CPUs", "", Align::Left));
    columns.push(column("Operating point or idle state", "", Align::Left));
    columns.push(column("Share of the time", "%", Align::Right));
    let rows = all.iter().flat_map(|(load, side, power)| {
        power.kinds.iter().flat_map(move |kind| {
            let shown = kind.states.iter().filter(|(_, pct)| *pct >= SHOWN_PCT);
            shown.map(move |(state, pct)| {
                let texts = [load.clone(), side.clone(), cpus(kind), state.clone()];
                texts.into_iter().map(Cell::Text).chain([Cell::Number(*pct, 1)]).collect()
            })
        })
    });
    let caption = "Operating points and idle states of each kind of CPU".to_owned();
    Table { id: "residency-table".to_owned(), caption, columns, rows: rows.collect() }
}

fn cpus(kind: &KindSummary) -> String {
    format!("{} from CPU {}", kind.cpus, kind.first_cpu)
}
