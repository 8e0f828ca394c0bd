//! The tables of a matrix: a line for each load, a column for each variant.

use super::differences::wrapped;
use super::power_quantity;
use super::table::WATTS;
use super::verdict::conclusion;
use crate::VERSION;
use crate::numbers::{NONE, amount, count, duration, interval, signed, spread, switches};
use crate::reproduce::to_make;
use crate::table::{table as new_table, text as table_text};
use std::fmt::Write;
use textwrap::Options;
use wakelab_statistics::Better;
use wakelab_statistics::GeometricMean;
use wakelab_study::compare::{Block, CompareRow, Comparison, Matrix, MatrixComparison, MatrixPlan, PowerDifference};
use wakelab_study::verdict::{JudgedRow, RowVerdict, Verdict};

pub use super::csv::of_matrix as csv;
pub use super::json::of_matrix as json;
pub use super::lkml::of_matrix as lkml;

/// The columns of sentences.
const WIDTH: usize = 100;

/// The comparison of all sides: what was run, the results by workload, geometric means, and the verdicts.
pub fn table(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> String {
    let mut text = header(found, true);
    for group in groups(found, verdicts) {
        text += &results(found, &group);
    }
    text += &means(found);
    text += &failed_text(found);
    text += &footer(found);
    text + &verdict_text(verdicts)
}

/// What a cell says in place of a number if the variant has failed there.
pub(crate) const FAILED: &str = "failed";

/// What foreign schedulers failed at: a line for each case and side, and why; nothing if all have numbers.
pub(crate) fn failed_lines(found: &MatrixComparison) -> Vec<String> {
    found.failed.iter().map(|row| format!("{} failed: {}", row.side, row.failed)).collect()
}

/// The same as a part of a table's text.
pub(crate) fn failed_text(found: &MatrixComparison) -> String {
    if found.failed.is_empty() {
        return String::new();
    }
    let mut text = "\nNo result: for each case and side, the first run that failed. Means cover the rows that a \
                    variant has.\n\n"
        .to_owned();
    failed_lines(found).iter().for_each(|line| text += &format!("{line}\n"));
    text
}

/// The plan of a matrix: `wakelab compare --dry-run`; `jobs` runs go at a time.
pub fn plan(matrix: &Matrix, plan: &MatrixPlan, jobs: usize) -> String {
    let of_block = |block: &Block| {
        let counts = [block.cases.len(), block.sides(), block.repeats as usize].map(|count| count.to_string());
        [block.machine.name.clone(), block.kernel.name.to_owned()].into_iter().chain(counts)
    };
    let mut table = new_table(&["machine", "kernel", "cases", "sides", "repeats"], 2);
    matrix.blocks.iter().for_each(|block| {
        table.add_row(of_block(block));
    });
    let mut text = table_text(&table) + "\n" + &to_make([plan.runs - plan.kept, plan.kept], plan.cpu_s, jobs);
    if let Some(until) = matrix.blocks[0].until {
        let _ = writeln!(
            text,
            "Cases whose intervals are wider than ±{}% are then repeated, up to {} times: at most {} in all.",
            until.half_width_pct,
            until.most,
            count(matrix.runs() as u64, "run")
        );
    }
    text
}

/// The results of one workload on all machines and kernels.
pub(crate) struct Group<'a> {
    /// Benchmark, case and metric.
    pub(crate) key: [String; 3],
    pub(crate) lines: Vec<Line<'a>>,
}

/// The rows of all variants of a case on a machine and a kernel.
pub(crate) struct Line<'a> {
    pub(crate) of: &'a Comparison,
    /// By variant; `None` if it has failed. One has not.
    pub(crate) rows: Vec<Option<(&'a CompareRow, &'a JudgedRow)>>,
}

impl<'a> Line<'a> {
    /// The row of the first variant that has one, whose base is that of all.
    pub(crate) fn first(&self) -> &'a CompareRow {
        self.there().next().expect("a line has a row").0
    }

    /// The rows that are there.
    pub(crate) fn there(&self) -> impl Iterator<Item = (&'a CompareRow, &'a JudgedRow)> {
        self.rows.iter().flatten().copied()
    }
}

/// What a row is grouped by.
pub(crate) fn key(row: &CompareRow) -> [String; 3] {
    [&row.benchmark, &row.case, &row.metric].map(String::clone)
}

/// The lines of the matrix by workload, in the order in which they come.
pub(crate) fn groups<'a>(found: &'a MatrixComparison, verdicts: &'a [Verdict<'_>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut judged: Vec<_> = verdicts.iter().map(|verdict| verdict.rows.iter()).collect();
    for (block, lines) in found.block_lines() {
        for line in lines {
            let row = |((of, judged), at): ((&'a Comparison, &mut std::slice::Iter<'a, JudgedRow>), &Option<usize>)| {
                Some((of.rows.get((*at)?)?, judged.next()?))
            };
            let line = Line { of: &block[0], rows: block.iter().zip(&mut judged).zip(line).map(row).collect() };
            let key = key(line.first());
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.lines.push(line),
                None => groups.push(Group { key, lines: vec![line] }),
            }
        }
    }
    groups
}

/// The different values of the comparisons, in their order.
fn different(found: &MatrixComparison, of: fn(&Comparison) -> &String) -> Vec<&String> {
    let mut all: Vec<&String> = Vec::new();
    for value in found.of_variant(0).map(of) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The machines.
pub(crate) fn machines(found: &MatrixComparison) -> Vec<&String> {
    different(found, machine)
}

/// The kernels, of the sides that name none themselves.
pub(crate) fn kernels(found: &MatrixComparison) -> Vec<&String> {
    different(found, kernel)
}

pub(crate) fn machine(of: &Comparison) -> &String {
    &of.experiment.machine
}

pub(crate) fn kernel(of: &Comparison) -> &String {
    &of.experiment.kernel
}

/// What was run: with `variants`, what each of them is.
pub(crate) fn header(found: &MatrixComparison, variants: bool) -> String {
    let (first, width) = (&found.comparisons[0].experiment, name_width(found));
    let mut text = format!("{}: simulated by wakelab {VERSION}, not measured\n\n", first.name);
    let mut line = |name: &str, value: String| {
        let wrapped = wrapped(&format!("{name:width$}{value}"), width);
        text += &wrapped;
    };
    for (one, several, of) in
        [("machine", "machines", machine as fn(&Comparison) -> &String), ("kernel", "kernels", kernel)]
    {
        let all = different(found, of);
        let list = all.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        line(if all.len() == 1 { one } else { several }, list);
    }
    for workload in &first.workloads {
        line("workload", workload.clone());
    }
    line(&found.base, switches(&first.base).to_owned());
    for (variant, name) in found.variants.iter().enumerate().filter(|_| variants) {
        let notes = |of: &Comparison| of.experiment.notes.clone().into_iter().filter(|note| note.starts_with("with: "));
        let mut told: Vec<String> =
            differences(found, variant).into_iter().map(|what| format!("differs in {what}")).collect();
        for note in found.of_variant(variant).flat_map(notes) {
            if !told.contains(&note) {
                told.push(note);
            }
        }
        let with = &found.comparisons[variant].experiment.with;
        if with != name {
            line(name, switches(with).to_owned());
        }
        for (at, one) in told.into_iter().enumerate() {
            line(if at == 0 && with == name { name } else { "" }, one);
        }
    }
    line(
        "runs",
        format!(
            "{}, seed {}, {} measured after {}; spread over seeds, not over machines",
            super::table::repeats(first),
            first.seed,
            duration(first.time_ns),
            duration(first.settle_ns)
        ),
    );
    if let Some(cpus) = &first.pinned {
        line("pinned", cpus.clone());
    }
    if first.observer_cost_ns > 0 {
        line("observer", format!("{} at each select_idle_cpu()", duration(first.observer_cost_ns)));
    }
    if !found.complete {
        text += "\nNot complete: it was interrupted, and only finished rows are shown.\n";
    }
    text
}

/// What a variant differs in from the base; where that is not the same everywhere, each with its machines and kernels.
pub(crate) fn differences(found: &MatrixComparison, variant: usize) -> Vec<String> {
    let mut all: Vec<(String, Vec<&Comparison>)> = Vec::new();
    for comparison in found.of_variant(variant) {
        let what = super::differ(&comparison.experiment);
        match all.iter_mut().find(|(other, _)| *other == what) {
            Some((_, of)) => of.push(comparison),
            None => all.push((what, vec![comparison])),
        }
    }
    if let [(what, _)] = &all[..] {
        return vec![what.clone()];
    }
    let several = places(found);
    let name = |of: &Comparison| several.iter().map(|(_, place)| place(of).as_str()).collect::<Vec<_>>().join(" ");
    let names = |of: &[&Comparison]| of.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ");
    all.iter().map(|(what, of)| format!("{what} ({})", names(of))).collect()
}

/// The width of the names in the head, two blanks included.
fn name_width(found: &MatrixComparison) -> usize {
    let names = found.variants.iter().zip(&found.comparisons).map(|(name, _)| name);
    // A name that is the switches themselves is long.
    let longest = names.chain([&found.base]).map(|name| name.chars().count()).max().unwrap_or(0);
    longest.clamp(8, 24) + 2
}

/// What a column of places is called, and what is in it.
type Place = (&'static str, fn(&Comparison) -> &String);

/// The columns that tell a line from the others: machine and kernel, if there are several, and the load.
fn places(found: &MatrixComparison) -> Vec<Place> {
    let all: [Place; 2] = [("machine", machine), ("kernel", kernel)];
    all.into_iter().filter(|(_, of)| different(found, *of).len() > 1).collect()
}

/// A variant's row: the mark of its verdict with compare%, and the interval.
fn cells(row: &CompareRow, judged: &JudgedRow) -> [String; 2] {
    let mark = match judged.verdict {
        RowVerdict::Identical => return [judged.verdict.name().to_owned(), String::new()],
        RowVerdict::Worse | RowVerdict::Better | RowVerdict::Undecided => format!("{} ", judged.verdict.name()),
        RowVerdict::Same | RowVerdict::Untested => String::new(),
    };
    [format!("{mark}{}", signed(row.compare_pct, 2)), interval(row.ci95)]
}

/// A geometric mean with its interval.
fn mean_cells(mean: Option<GeometricMean>) -> [String; 2] {
    mean.map_or_else(|| [NONE.to_owned(), NONE.to_owned()], |mean| [signed(mean.pct, 2), interval(mean.ci95)])
}

fn results(found: &MatrixComparison, group: &Group<'_>) -> String {
    let places = places(found);
    let columns: Vec<&str> = places.iter().map(|(name, _)| *name).chain(["load", "base ± std%"]).collect();
    let of_variants = found.variants.iter().flat_map(|name| [name.as_str(), "to base %", "95% interval"]);
    let columns: Vec<&str> = columns.into_iter().chain(of_variants).chain(["n"]).collect();
    let mut table = new_table(&columns, places.len() + 1);
    let mut before: Vec<String> = vec![String::new(); places.len()];
    for line in &group.lines {
        let row = line.first();
        let names: Vec<String> = places.iter().map(|(_, of)| of(line.of).clone()).collect();
        // A name stands at the first of its lines.
        let shown = names.iter().enumerate().map(|(at, name)| match names[..=at] == before[..=at] {
            true => String::new(),
            false => name.clone(),
        });
        let mut cells_of_line: Vec<String> = shown.collect();
        cells_of_line.extend([row.load.clone(), spread(row.base.mean, row.base.std_pct, row.base.n)]);
        for of in &line.rows {
            let Some((row, judged)) = of else {
                cells_of_line.extend([FAILED.to_owned(), String::new(), String::new()]);
                continue;
            };
            cells_of_line.push(spread(row.with.mean, row.with.std_pct, row.with.n));
            cells_of_line.extend(cells(row, judged));
        }
        cells_of_line.push(row.base.n.to_string());
        table.add_row(cells_of_line);
        before = names;
    }
    let mut mean = vec!["geometric mean".to_owned()];
    mean.resize(places.len() + 2, String::new());
    let of_group = |variant| found.mean(variant, |_, row| key(row) == group.key);
    for variant in 0..found.variants.len() {
        mean.push(String::new());
        mean.extend(mean_cells(of_group(variant)));
    }
    mean.push(String::new());
    table.add_row(mean);
    let first = group.lines[0].first();
    let good = match first.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let [benchmark, case, metric] = &group.key;
    let title = format!("{benchmark} {case} {metric}, {}, {good}; ± std%; to base: positive is better", first.unit);
    let mut text = format!("\n{title}\n\n{}", table_text(&table));
    let all = || group.lines.iter().flat_map(|line| line.there().map(|(row, _)| row));
    if let Some(test) = all().find_map(|row| row.test) {
        let _ = writeln!(
            text,
            "Intervals are those of {test}, each row by itself; better and worse are corrected for all rows of the \
             matrix.\nA row without a word is not shown to differ."
        );
    } else if first.base.n == 1 {
        text += "One repeat: no interval and no verdict. --repeat 3 or more gives them.\n";
    }
    text + &power(found, group)
}

/// The power or energy of a line of a group.
pub(crate) struct PowerLine<'a> {
    pub(crate) line: &'a Line<'a>,
    /// The quantity with its unit.
    pub(crate) of: String,
    /// The base's value.
    pub(crate) base: f64,
    /// The difference of each variant; `None` if it has no such quantity.
    pub(crate) of_variants: Vec<Option<PowerDifference>>,
}

/// Power and energy of a group, a line for each quantity of each line; empty where power is not described.
pub(crate) fn power_lines<'a>(group: &'a Group<'a>) -> Vec<PowerLine<'a>> {
    let mut found: Vec<PowerLine<'a>> = Vec::new();
    for line in &group.lines {
        let of = |row: &Option<(&CompareRow, _)>| row.map(|(row, _)| PowerDifference::of(row)).unwrap_or_default();
        let all: Vec<Vec<PowerDifference>> = line.rows.iter().map(of).collect();
        let mut quantities: Vec<&PowerDifference> = Vec::new();
        for one in all.iter().flatten() {
            if quantities.iter().all(|known| known.quantity != one.quantity) {
                quantities.push(one);
            }
        }
        found.extend(quantities.iter().map(|first| PowerLine {
            line,
            of: format!("{}, {}", power_quantity(line.first(), first), first.unit),
            base: first.base,
            of_variants: all.iter().map(|of| of.iter().find(|one| one.quantity == first.quantity).cloned()).collect(),
        }));
    }
    found
}

/// The table of [`power_lines`]; nothing where power is not described.
fn power(found: &MatrixComparison, group: &Group<'_>) -> String {
    let lines = power_lines(group);
    if lines.is_empty() {
        return String::new();
    }
    let places = places(found);
    let columns: Vec<&str> = places.iter().map(|(name, _)| *name).chain(["load", "of", "base"]).collect();
    let of_variants = found.variants.iter().flat_map(|name| [name.as_str(), "to base %", "95% interval"]);
    let columns: Vec<&str> = columns.into_iter().chain(of_variants).collect();
    let mut table = new_table(&columns, places.len() + 2);
    for PowerLine { line, of, base, of_variants } in lines {
        let mut cells: Vec<String> = places.iter().map(|(_, of)| of(line.of).clone()).collect();
        cells.extend([line.first().load.clone(), of, amount(base)]);
        for one in of_variants {
            let of_it = one.map(|one| match one.is_identical() {
                true => [amount(one.with), RowVerdict::Identical.name().to_owned(), String::new()],
                false => [amount(one.with), signed(one.compare_pct, 2), interval(one.ci95)],
            });
            cells.extend(of_it.unwrap_or_else(|| [NONE; 3].map(str::to_owned)));
        }
        table.add_row(cells);
    }
    let [benchmark, case, _] = &group.key;
    format!(
        "\n{benchmark} {case}, power of the machine, and energy for each thing done; to base: positive \
         is less\n\n{}{WATTS}",
        table_text(&table)
    )
}

/// The means over workloads: by machine and kernel where there are several, and of all rows.
fn means(found: &MatrixComparison) -> String {
    let of_variants = found.variants.iter().flat_map(|name| [name.as_str(), "95% interval"]);
    let columns: Vec<&str> = ["over", "rows"].into_iter().chain(of_variants).collect();
    let mut table = new_table(&columns, 1);
    let mut left_out = 0;
    for (over, which) in overs(found) {
        let of: Vec<Option<GeometricMean>> =
            (0..found.variants.len()).map(|variant| found.mean(variant, |found, _| which(found))).collect();
        let rows = of.iter().flatten().map(|mean| mean.rows).max().unwrap_or(0);
        left_out = left_out.max(of.iter().flatten().map(|mean| mean.left_out).max().unwrap_or(0));
        let mut line = vec![over, rows.to_string()];
        line.extend(of.into_iter().flat_map(mean_cells));
        table.add_row(line);
    }
    let mut text = format!("\nGeometric means of all workloads, %; positive is better\n\n{}", table_text(&table));
    if left_out > 0 {
        let _ =
            writeln!(text, "{} without a ratio, as a mean is 0: left out of the means.", count(left_out as u64, "row"));
    }
    text
}

/// What means are taken over, with the comparisons that each takes.
pub(crate) type Over<'a> = (String, Box<dyn Fn(&Comparison) -> bool + 'a>);

pub(crate) fn overs(found: &MatrixComparison) -> Vec<Over<'_>> {
    let mut all: Vec<Over<'_>> = Vec::new();
    for (_, of) in places(found) {
        for name in different(found, of) {
            all.push((name.clone(), Box::new(move |comparison| of(comparison) == name)));
        }
    }
    all.push(("all".to_owned(), Box::new(|_| true)));
    all
}

/// The means for programs: by workload, by machine and kernel, and of all rows.
pub(super) fn means_of(
    found: &MatrixComparison,
    verdicts: &[Verdict<'_>],
) -> Vec<(usize, String, String, GeometricMean)> {
    let mut all = Vec::new();
    for variant in 0..found.variants.len() {
        for group in groups(found, verdicts) {
            let mean = found.mean(variant, |_, row| key(row) == group.key);
            all.extend(mean.map(|mean| (variant, "workload".to_owned(), group.key.join(" "), mean)));
        }
        for (kind, of) in places(found) {
            for name in different(found, of) {
                let mean = found.mean(variant, |comparison, _| of(comparison) == name);
                all.extend(mean.map(|mean| (variant, kind.to_owned(), name.clone(), mean)));
            }
        }
        all.extend(found.mean(variant, |_, _| true).map(|mean| (variant, "all".to_owned(), String::new(), mean)));
    }
    all
}

fn footer(found: &MatrixComparison) -> String {
    let assumed: Vec<usize> = found.blocks().map(|block| block[0].assumed.len()).collect();
    let (least, most) = (assumed.iter().min().copied().unwrap_or(0), assumed.iter().max().copied().unwrap_or(0));
    let constants = if least == most { count(most as u64, "constant") } else { format!("{least} to {most} constants") };
    let machines = machines(found);
    let show = if let [one] = machines[..] { one.as_str() } else { "NAME" };
    format!(
        "\n{constants} of the model are assumed: `wakelab machine show {show}`. --format json and csv have the \
         searches and latencies of each row.\n"
    )
}

/// The verdicts for the end of a table: a sentence for each variant, then what holds for all.
pub(super) fn verdict_text(verdicts: &[Verdict<'_>]) -> String {
    let wrapped = Options::new(WIDTH).subsequent_indent("  ");
    let lines = verdict_lines(verdicts);
    lines.iter().fold("\n".to_owned(), |text, line| text + &textwrap::fill(line, &wrapped) + "\n")
}

/// The lines of [`verdict_text`].
pub(crate) fn verdict_lines(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let mut lines: Vec<String> = verdicts.iter().map(|verdict| format!("verdict: {}", conclusion(verdict))).collect();
    lines.extend(model(verdicts));
    lines
}

/// The lines that hold for all variants: the test, how exact the intervals are, and how right such predictions were.
pub(crate) fn model(verdicts: &[Verdict<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    let tested: usize = verdicts.iter().map(Verdict::tested).sum();
    if tested > 0 {
        let least = verdicts.iter().map(|verdict| verdict.repeats[0]).min().unwrap_or(0);
        let most = verdicts.iter().map(|verdict| verdict.repeats[1]).max().unwrap_or(0);
        lines.push(format!(
            "chance: {} runs per side, p below 0.05 after Holm's correction for {} of the whole matrix",
            super::verdict::runs([least, most]),
            count(tested as u64, "tested row")
        ));
    }
    lines.extend(super::verdict::wide(verdicts));
    lines.extend(super::verdict::starved(verdicts));
    lines.extend(super::verdict::decided_nothing(verdicts));
    lines.extend(super::verdict::model(verdicts));
    lines
}
