//! Power and residencies, with turbostat's names.

use super::{BASE, WITH, load};
use wakelab_page::{Align, Cell, Column, Section, Table};
use wakelab_study::compare::{CompareRow, Comparison, KindSummary, PowerSummary};

/// A state in which less of the time was spent, %, is not shown.
const SHOWN_PCT: f64 = 0.05;

/// `None` where nothing was governed.
pub(super) fn power(found: &Comparison) -> Option<Section> {
    let sides = |row: &'_ CompareRow| {
        let of = |name: &'static str, power: &Option<PowerSummary>| Some((name, power.clone()?));
        [of(BASE, &row.base.power), of(WITH, &row.with.power)].into_iter().flatten().collect::<Vec<_>>()
    };
    let all: Vec<(String, &str, PowerSummary)> = found
        .rows
        .iter()
        .flat_map(|row| sides(row).into_iter().map(|(name, of)| (load(found, row), name, of)))
        .collect();
    (!all.is_empty()).then(|| Section {
        id: "energy".to_owned(),
        title: "Energy and residency".to_owned(),
        paragraphs: vec!["Means over repeats, with turbostat's names.".to_owned()],
        tables: vec![numbers(&all), residency(&all)],
    })
}

fn column(title: &str, unit: &str, align: Align) -> Column {
    Column { title: title.to_owned(), unit: unit.to_owned(), align }
}

fn names() -> Vec<Column> {
    vec![column("Load", "", Align::Left), column("Side", "", Align::Left)]
}

fn numbers(all: &[(String, &str, PowerSummary)]) -> Table {
    let units = [
        ("Busy%", "%"),
        ("Bzy_MHz", "MHz"),
        ("IRQ", "1/s"),
        ("Idle wake-ups", "1/s"),
        ("All", "mW"),
        ("Cores", "mW"),
        ("Clusters", "mW"),
        ("Packages", "mW"),
        ("Energy", "J"),
    ];
    let mut columns = names();
    columns.extend(units.map(|(title, unit)| column(title, unit, Align::Right)));
    let row = |(load, side, power): &(String, &str, PowerSummary)| {
        let known = |value: Option<f64>, digits| value.map_or(Cell::Empty, |value| Cell::Number(value, digits));
        vec![
            Cell::Text(load.clone()),
            Cell::Text((*side).to_owned()),
            Cell::Number(power.busy_pct, 2),
            Cell::Number(power.bzy_mhz, 0),
            Cell::Number(power.irq_per_s, 0),
            Cell::Number(power.idle_wakeups_per_s, 0),
            known(power.total_mw, 0),
            known(power.cores_mw, 0),
            known(power.clusters_mw, 0),
            known(power.packages_mw, 0),
            known(power.energy_j, 3),
        ]
    };
    let caption = "Power beside performance".to_owned();
    Table { id: "energy-table".to_owned(), caption, columns, rows: all.iter().map(row).collect() }
}

fn residency(all: &[(String, &str, PowerSummary)]) -> Table {
    let mut columns = names();
    columns.push(column("CPUs", "", Align::Left));
    columns.push(column("State", "", Align::Left));
    columns.push(column("Share of the time", "%", Align::Right));
    let rows = all.iter().flat_map(|(load, side, power)| {
        power.kinds.iter().flat_map(move |kind| {
            let shown = kind.states.iter().filter(|(_, pct)| *pct >= SHOWN_PCT);
            shown.map(move |(state, pct)| {
                let texts = [load.clone(), (*side).to_owned(), cpus(kind), state.clone()];
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
