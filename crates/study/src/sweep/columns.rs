//! The rows of a sweep as the columns of a table. docs/sweep.md describes them.

use super::{MEASURED, MeasuredOf, Sweep, SweepRow};
use crate::experiment::AxisValue;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The unit; empty for none.
    pub unit: &'static str,
    /// The values.
    pub values: Values,
}

/// The values of a column by row; `None` where there is none.
#[derive(Clone, Debug)]
pub enum Values {
    /// Whole numbers, which may be negative.
    Int(Vec<Option<i64>>),
    /// Counts, times and other numbers from 0.
    Whole(Vec<Option<u64>>),
    /// Numbers of repeats.
    Repeat(Vec<Option<u32>>),
    /// Other numbers.
    Number(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

/// What the values of a tunable are, from the narrowest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Whole,
    Number,
    Word,
}

/// The tunables of a sweep, each with what its values are: whole numbers, numbers, or words if one of them is a word.
fn tunables(sweep: &Sweep) -> Vec<(&str, Of)> {
    let of = |name: &str| {
        let axes = sweep.spec().grids.iter().flat_map(|grid| &grid.axes).filter(|axis| axis.name == name);
        let values = axes.flat_map(|axis| axis.listed().into_iter().flatten()).map(|value| match value {
            AxisValue::Whole(_) => Of::Whole,
            AxisValue::Number(_) => Of::Number,
            AxisValue::Word(_) => Of::Word,
        });
        values.max().unwrap_or(Of::Whole)
    };
    sweep.tunables().into_iter().map(|name| (name, of(name))).collect()
}

/// The columns of these rows.
pub fn columns(sweep: &Sweep, rows: &[SweepRow]) -> Vec<Column> {
    let text = |of: &dyn Fn(&SweepRow) -> Option<String>| Values::Text(rows.iter().map(of).collect());
    let whole = |of: &dyn Fn(&SweepRow) -> Option<u64>| Values::Whole(rows.iter().map(of).collect());
    // A number that is none, such as a share of nothing, is missing.
    let finite = |value: &f64| value.is_finite();
    let number =
        |of: &dyn Fn(&SweepRow) -> Option<f64>| Values::Number(rows.iter().map(|row| of(row).filter(finite)).collect());
    let mut columns = Vec::new();
    let mut add = |name: &str, unit, values| columns.push(Column { name: name.to_owned(), unit, values });
    add("run", "", whole(&|row| Some(row.run)));
    add("point", "", whole(&|row| Some(row.point)));
    add("machine", "", text(&|row| Some(row.machine.clone())));
    add("kernel", "", text(&|row| Some(row.kernel.to_owned())));
    add("side", "", text(&|row| Some(row.side.clone())));
    for (name, of) in tunables(sweep) {
        let value =
            |row: &SweepRow| row.tunables.iter().find(|(tunable, _)| tunable == name).map(|(_, value)| value.clone());
        let as_whole = |value| if let AxisValue::Whole(value) = value { Some(value) } else { None };
        let values = match of {
            Of::Whole => Values::Int(rows.iter().map(|row| value(row).and_then(as_whole)).collect()),
            Of::Number => number(&|row| match value(row)? {
                AxisValue::Whole(value) => Some(value as f64),
                AxisValue::Number(value) => Some(value),
                AxisValue::Word(_) => None,
            }),
            Of::Word => text(&|row| value(row).map(|value| value.to_string())),
        };
        add(&format!("tunable_{name}"), "", values);
    }
    add("benchmark", "", text(&|row| Some(row.benchmark.clone())));
    add("case", "", text(&|row| Some(row.case.clone())));
    add("load", "", text(&|row| Some(row.load.clone())));
    add("repeat", "", Values::Repeat(rows.iter().map(|row| Some(row.repeat)).collect()));
    add("seed", "", whole(&|row| Some(row.seed)));
    add("metric", "", text(&|row| Some(row.metric.clone())));
    add("unit", "", text(&|row| Some(row.unit.clone())));
    add("better", "", text(&|row| Some(if row.higher_is_better { "higher" } else { "lower" }.to_owned())));
    add("value", "", number(&|row| Some(row.stats.as_ref().ok()?.metric(&row.metric))));
    for measured in MEASURED {
        let values = match measured.of {
            MeasuredOf::Whole(of) => whole(&|row| row.stats.as_ref().ok().and_then(of)),
            MeasuredOf::Number(of) => number(&|row| row.stats.as_ref().ok().and_then(of)),
        };
        add(measured.name, measured.unit, values);
    }
    add("error", "", text(&|row| row.stats.as_ref().err().cloned()));
    columns
}

/// How many of these runs failed.
pub fn failed_runs(rows: &[SweepRow]) -> u64 {
    rows.iter().filter(|row| row.stats.is_err()).count() as u64
}
