//! The pages of a matrix and of a survey: a chart of all differences, or of the ranking, then a table for each
//! workload.

use super::comparison::{change, headline, shared_facts, shared_notes};
use super::machine::machine;
use super::{KERNELS_OWN, TEXT, opt, table, text};
use crate::VERSION;
use crate::compare::matrix::{
    FAILED, Group, Line, PowerLine, differences, failed_lines, groups, kernels, key, machines, overs, power_lines,
    verdict_lines,
};
use crate::compare::{WATTS, number_of_runs};
use crate::numbers::switches;
use crate::survey::{conclusions as survey_lines, notes as survey_notes};
use wakelab_page::{
    Cell, Comparison as Changes, Error, Estimate, Kind, Metric, MetricRow, Page, Place, Run, Section, Table,
    Verdict as PageVerdict, render,
};
use wakelab_statistics::Better;
use wakelab_statistics::GeometricMean;
use wakelab_study::compare::{CompareRow, MatrixComparison, PowerDifference};
use wakelab_study::survey::{Ranked, ranking};
use wakelab_study::verdict::{RowVerdict, Verdict};

/// What the other side is called on a page of several variants.
const ANY: &str = "the variant";
/// More variants than these are not named in a headline.
const NAMED: usize = 4;

/// The page; `command` makes it again.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn matrix(found: &MatrixComparison, verdicts: &[Verdict<'_>], command: &str) -> Result<String, Error> {
    let groups = groups(found, verdicts);
    let mut page = page(found, verdicts, command);
    page.focus = Some(largest(&groups));
    page.comparison = Some(Changes {
        base: base_name(found),
        with: other(found),
        metrics: groups.iter().flat_map(|group| metrics(found, group)).collect(),
    });
    let of_group = |(at, group): (usize, &Group<'_>)| {
        let power = power(found, at, group);
        Section {
            id: format!("workload-{}", at + 1),
            title: group.key.join(" "),
            paragraphs: power.iter().map(|_| WATTS.trim().to_owned()).collect(),
            tables: [results(found, at, group)].into_iter().chain(power).collect(),
        }
    };
    page.sections.extend(groups.iter().enumerate().map(of_group));
    render(&page)
}

/// The page of a survey: the switches by their means, and by workload.
///
/// # Errors
/// Where there are more rows than a page takes.
pub fn survey(found: &MatrixComparison, verdicts: &[Verdict<'_>], command: &str) -> Result<String, Error> {
    let (ranked, idle) = ranking(found, verdicts);
    let mut page = page(found, verdicts, command);
    page.title = format!("Survey of {}, kernel {}", page.run.machine, page.run.kernel);
    // A sentence for each of so many switches would hide the chart.
    page.verdict = survey_lines(found, verdicts).iter().map(|line| sentence(line)).collect();
    let row = |one: &Ranked<'_>| MetricRow {
        load: found.variants[one.variant].clone(),
        base: UNKNOWN,
        with: UNKNOWN,
        better_pct: Estimate { mean: one.mean.pct, interval: one.mean.ci95.map(|[low, high]| (low, high)) },
        verdict: PageVerdict::Unjudged,
        ..MetricRow::default()
    };
    let metric = Metric {
        name: "Geometric mean over all loads".to_owned(),
        rows: ranked.iter().map(row).collect(),
        ..Metric::default()
    };
    page.comparison = (!ranked.is_empty()).then(|| Changes {
        base: base_name(found),
        with: "the switch".to_owned(),
        metrics: vec![metric],
    });
    let mut sections = vec![ranks(found, &ranked, &idle)];
    for (at, group) in groups(found, verdicts).iter().enumerate() {
        sections.push(Section {
            id: format!("workload-{}", at + 1),
            title: group.key.join(" "),
            paragraphs: Vec::new(),
            tables: vec![by_load(found, at, group, &ranked)],
        });
    }
    sections.append(&mut page.sections.into_iter().filter(|section| section.id == SIDES).collect());
    page.sections = sections;
    render(&page)
}

/// What is not shown of a row.
const UNKNOWN: Estimate = Estimate { mean: f64::NAN, interval: None };

fn sentence(line: &str) -> String {
    headline(line.trim_start_matches("verdict: ").to_owned())
}

/// The variant's name, or what stands for several.
fn other(found: &MatrixComparison) -> String {
    if let [one] = &found.variants[..] { one.clone() } else { ANY.to_owned() }
}

/// The base's name, or its switches if it has no name of its own.
fn base_name(found: &MatrixComparison) -> String {
    match (found.base.as_str(), found.comparisons[0].experiment.base.as_str()) {
        ("base", "") => KERNELS_OWN.to_owned(),
        ("base", switches) => switches.to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// The machine and the kernel of a line, where there are several, and its load.
fn place(found: &MatrixComparison, line: &Line<'_>) -> String {
    let of = &line.of.experiment;
    let several = [(machines(found).len(), &of.machine), (kernels(found).len(), &of.kernel)];
    let names = several.into_iter().filter(|(n, _)| *n > 1).map(|(_, name)| name.as_str());
    names.chain([line.first().load.as_str()]).collect::<Vec<_>>().join(" ")
}

fn case(group: &Group<'_>) -> String {
    format!("{} {}", group.key[0], group.key[1])
}

/// The workload with the largest change.
fn largest(groups: &[Group<'_>]) -> Place {
    let change = |group: &Group<'_>| {
        let rows = group.lines.iter().flat_map(Line::there);
        rows.map(|(_, judged)| judged.size()).fold(0.0, f64::max)
    };
    let most = groups.iter().max_by(|a, b| change(a).total_cmp(&change(b)));
    Place { case: most.map(case).unwrap_or_default(), load: String::new() }
}

/// The lines of the chart for each variant of a workload. The means of both sides are left to the tables: machines and
/// kernels have no order over which a line could be drawn.
fn metrics(found: &MatrixComparison, group: &Group<'_>) -> Vec<Metric> {
    let [benchmark, of_benchmark, metric] = &group.key;
    let first = group.lines[0].first();
    let of_variant = |(at, name): (usize, &String)| {
        let row = |line: &Line<'_>| {
            let (row, judged) = (*line.rows.get(at)?)?;
            Some(MetricRow { load: place(found, line), base: UNKNOWN, with: UNKNOWN, ..change(row, judged) })
        };
        let of_several = if found.variants.len() > 1 { format!(", {name}") } else { String::new() };
        Metric {
            name: format!("{benchmark} {of_benchmark}: {metric}{of_several}"),
            case: case(group),
            unit: first.unit.clone(),
            lower_is_better: first.better == Better::Lower,
            rows: group.lines.iter().filter_map(row).collect(),
        }
    };
    found.variants.iter().enumerate().map(of_variant).collect()
}

/// The switches that do something, the best first.
fn ranks(found: &MatrixComparison, ranked: &[Ranked<'_>], idle: &[usize]) -> Section {
    let line = |(rank, one): (usize, &Ranked<'_>)| {
        let mut cells = vec![Cell::Number(rank as f64, 0), text(found.variants[one.variant].clone())];
        cells.extend(difference(one.mean.pct, one.mean.ci95));
        cells.extend([one.better, one.worse, one.rows].map(|count| Cell::Number(count as f64, 0)));
        for (row, _) in [one.best, one.worst] {
            cells.extend([
                text(format!("{} {} {}", row.benchmark, row.case, row.load)),
                Cell::Number(row.compare_pct, 2),
            ]);
        }
        cells
    };
    let columns = [
        ("Rank", ""),
        ("Switch", TEXT),
        ("Mean", "%"),
        ("Low", "%"),
        ("High", "%"),
        ("Better", "rows"),
        ("Worse", "rows"),
        ("Of", "rows"),
        ("Best row", TEXT),
        ("Best", "%"),
        ("Worst row", TEXT),
        ("Worst", "%"),
    ];
    Section {
        id: "ranking".to_owned(),
        title: "Which switch helps, and where".to_owned(),
        paragraphs: survey_notes(found, ranked, idle),
        tables: vec![table(
            "ranking-table",
            "Geometric means over all loads, the best first",
            &columns,
            (1..).zip(ranked).map(line).collect(),
        )],
    }
}

/// A workload of a survey: a line for each switch, with a column for each load.
fn by_load(found: &MatrixComparison, at: usize, group: &Group<'_>, ranked: &[Ranked<'_>]) -> Table {
    let line = |one: &Ranked<'_>| {
        let rows = || group.lines.iter().map(|line| line.rows.get(one.variant).copied().flatten());
        let mean = found.mean(one.variant, |_, row| key(row) == group.key);
        let mut cells = vec![text(found.variants[one.variant].clone())];
        cells.extend(mean.map_or([Cell::Empty, Cell::Empty, Cell::Empty], |mean| difference(mean.pct, mean.ci95)));
        let pct = |of: Option<(&CompareRow, _)>| of.map(|(row, _)| row.compare_pct).filter(|pct| pct.is_finite());
        cells.extend(rows().map(|of| opt(pct(of), 2)));
        for verdict in [RowVerdict::Better, RowVerdict::Worse] {
            let loads = rows().flatten().filter(|(_, of)| of.verdict == verdict).map(|(row, _)| row.load.as_str());
            cells.push(text(loads.collect::<Vec<_>>().join(", ")));
        }
        cells
    };
    let loads = group.lines.iter().map(|line| (line.first().load.as_str(), "%"));
    let first = [("Switch", TEXT), ("Mean", "%"), ("Low", "%"), ("High", "%")];
    let columns: Vec<(&str, &str)> =
        first.into_iter().chain(loads).chain([("Better at", TEXT), ("Worse at", TEXT)]).collect();
    let caption = format!("{}: each switch against {}, by load", group.key.join(" "), base_name(found));
    table(&format!("workload-{}-table", at + 1), &caption, &columns, ranked.iter().map(line).collect())
}

/// What both pages have.
fn page(found: &MatrixComparison, verdicts: &[Verdict<'_>], command: &str) -> Page {
    let first = &found.comparisons[0].experiment;
    let several = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let (on_machines, on_kernels) = (several(machines(found)), several(kernels(found)));
    let variants = match &found.variants[..] {
        few if few.len() <= NAMED => few.join(", "),
        many => format!("{} variants", many.len()),
    };
    let one_machine = &found.comparisons[0].machine;
    let mut assumed = Vec::new();
    for of in found.of_variant(0).flat_map(|comparison| &comparison.assumed) {
        if !assumed.contains(&of) {
            assumed.push(of);
        }
    }
    Page {
        title: format!("{variants} against {}", base_name(found)),
        lead: format!("{} on {on_machines}, kernel {on_kernels}. Simulated.", first.workloads.join(", ")),
        verdict: verdict_lines(verdicts).iter().map(|line| sentence(line)).collect(),
        run: Run {
            command: command.to_owned(),
            version: VERSION.to_owned(),
            kind: Kind::Simulated,
            kernel: on_kernels,
            machine: on_machines,
            workload: first.workloads.join(", "),
            facts: shared_facts(first, repeats(verdicts)),
        },
        machine: (machines(found).len() == 1).then(|| machine(&one_machine.name, &one_machine.topology)),
        sections: sections(found),
        notes: shared_notes(found.complete).into_iter().chain(failed_lines(found)).collect(),
        assumed: assumed.into_iter().map(super::comparison::assumed).collect(),
        ..Page::default()
    }
}

fn repeats(verdicts: &[Verdict<'_>]) -> String {
    let least = verdicts.iter().map(|verdict| verdict.repeats[0]).min().unwrap_or(0);
    let most = verdicts.iter().map(|verdict| verdict.repeats[1]).max().unwrap_or(0);
    number_of_runs([least, most])
}

/// The anchor of the table of sides.
const SIDES: &str = "variants";

fn sections(found: &MatrixComparison) -> Vec<Section> {
    let means = Section {
        id: "means".to_owned(),
        title: "Geometric means".to_owned(),
        paragraphs: vec!["Of the ratios to the base; positive is better.".to_owned()],
        tables: vec![means(found)],
    };
    let sides = Section {
        id: SIDES.to_owned(),
        title: "The sides".to_owned(),
        paragraphs: vec![format!("Each variant is compared with {}.", base_name(found))],
        tables: vec![sides(found)],
    };
    vec![means, sides]
}

fn sides(found: &MatrixComparison) -> Table {
    let first = &found.comparisons[0].experiment;
    let base = vec![text(base_name(found)), text(switches(&first.base)), Cell::Empty];
    let variants = found.variants.iter().zip(&found.comparisons).enumerate().map(|(variant, (name, of))| {
        let differ = text(differences(found, variant).join("; "));
        vec![text(name.clone()), text(switches(&of.experiment.with)), differ]
    });
    let columns = [("Side", TEXT), ("Switches", TEXT), ("Differs in", TEXT)];
    table(
        "variants-table",
        "The base, and what is compared with it",
        &columns,
        [base].into_iter().chain(variants).collect(),
    )
}

/// The columns of each variant: its value, if values have this unit, the difference and the ends of its interval.
fn of_variants(found: &MatrixComparison, values: Option<&'static str>, verdict: bool) -> Vec<(String, &'static str)> {
    let columns = |name: &String| {
        let mut columns: Vec<(String, &'static str)> =
            values.into_iter().map(|unit| (format!("{name}, value"), unit)).collect();
        columns.extend([(name.clone(), "%"), (format!("{name}, low"), "%"), (format!("{name}, high"), "%")]);
        columns.extend(verdict.then(|| (format!("{name}, verdict"), TEXT)));
        columns
    };
    found.variants.iter().flat_map(columns).collect()
}

fn with_columns(
    id: &str,
    caption: &str,
    first: &[(&str, &str)],
    variants: &[(String, &'static str)],
    rows: Vec<Vec<Cell>>,
) -> Table {
    let variants = variants.iter().map(|(name, unit)| (name.as_str(), *unit));
    let columns: Vec<(&str, &str)> = first.iter().copied().chain(variants).collect();
    table(id, caption, &columns, rows)
}

fn difference(pct: f64, ci95: Option<[f64; 2]>) -> [Cell; 3] {
    let [low, high] = [0, 1].map(|end| opt(ci95.map(|ends| ends[end]), 2));
    [opt(Some(pct).filter(|pct| pct.is_finite()), 2), low, high]
}

fn results(found: &MatrixComparison, at: usize, group: &Group<'_>) -> Table {
    let line = |line: &Line<'_>| {
        let (of, row) = (&line.of.experiment, line.first());
        let mut cells = vec![text(of.machine.clone()), text(of.kernel.clone()), text(row.load.clone())];
        cells.extend([opt(Some(row.base.mean), 2), Cell::Number(row.base.n as f64, 0)]);
        for of in &line.rows {
            let Some((row, judged)) = of else {
                cells.extend([Cell::Empty, Cell::Empty, Cell::Empty, text(FAILED)]);
                continue;
            };
            cells.push(opt(Some(row.with.mean), 2));
            cells.extend(difference(row.compare_pct, row.ci95));
            let said = !matches!(judged.verdict, RowVerdict::Same | RowVerdict::Untested);
            cells.push(text(if said { judged.verdict.name() } else { "" }));
        }
        cells
    };
    let unit = group.lines[0].first().unit.as_str();
    let first = [("Machine", TEXT), ("Kernel", TEXT), ("Load", TEXT), ("Base", unit), ("Repeats", "")];
    let rows = group.lines.iter().map(line).collect();
    let caption = format!("{}: each variant against {}", group.key.join(" "), base_name(found));
    with_columns(&format!("workload-{}-table", at + 1), &caption, &first, &of_variants(found, Some(""), true), rows)
}

/// Power and energy of a group; `None` where power is not described.
fn power(found: &MatrixComparison, at: usize, group: &Group<'_>) -> Option<Table> {
    let lines = power_lines(group);
    let row = |of: &PowerLine<'_>| {
        let experiment = &of.line.of.experiment;
        let mut cells = vec![text(experiment.machine.clone()), text(experiment.kernel.clone())];
        cells.extend([text(of.line.first().load.clone()), text(of.of.clone()), Cell::Number(of.base, 2)]);
        let of_variant = |one: &Option<PowerDifference>| -> [Cell; 4] {
            let Some(one) = one else { return [Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty] };
            let [pct, low, high] = difference(one.compare_pct, one.ci95);
            [Cell::Number(one.with, 2), pct, low, high]
        };
        cells.extend(of.of_variants.iter().flat_map(of_variant));
        cells
    };
    let first = [("Machine", TEXT), ("Kernel", TEXT), ("Load", TEXT), ("Of", TEXT), ("Base", "")];
    let caption = format!("{}: power of the machine, and its energy by what is done; positive is less", case(group));
    let rows = lines.iter().map(row).collect();
    let id = format!("workload-{}-power-table", at + 1);
    (!lines.is_empty()).then(|| with_columns(&id, &caption, &first, &of_variants(found, Some(""), false), rows))
}

fn means(found: &MatrixComparison) -> Table {
    let cells = |mean: Option<GeometricMean>| {
        mean.map_or([Cell::Empty, Cell::Empty, Cell::Empty], |mean| difference(mean.pct, mean.ci95))
    };
    let rows = overs(found).into_iter().map(|(over, which)| {
        let of = (0..found.variants.len()).map(|variant| found.mean(variant, |found, _| which(found)));
        [text(over)].into_iter().chain(of.flat_map(cells)).collect()
    });
    let caption = "Geometric means over workloads and loads";
    with_columns("means-table", caption, &[("Over", TEXT)], &of_variants(found, None, false), rows.collect())
}
