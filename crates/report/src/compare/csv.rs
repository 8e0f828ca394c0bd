//! CSV: the columns of published tables first, so that a result can be printed beside another.

use crate::csv_cells::{names, number, number_or_none, text, written};
use wakelab_study::compare::{CompareRow, Comparison, ExperimentInfo, FailedRow, MatrixComparison, Side};
use wakelab_study::verdict::{JudgedRow, Verdict, by_comparison};

const COLUMNS: &str = "\
    benchmark case load metric baseline_std_pct compare_pct compare_std_pct base_mean with_mean unit n ci_low \
    ci_high p_value";

/// Of each side, with `base_` and `with_` before them.
const OF_SIDE: &str = "\
    sis_search sis_domain_search sis_scanned sis_failed se_eff_pct dom_eff_pct fast_rate_pct success_rate_pct \
    idle_pct wakeup_p50_ns wakeup_p95_ns wakeup_p99_ns wakeup_max_ns busy_ns_per_wakeup energy_j total_mw Busy% \
    Bzy_MHz IRQ_per_s idle_wakeups_per_s";

/// What a line is of and what is concluded of it, so that files of several comparisons can be joined; then `simulated`.
const OF_COMPARISON: &str = "verdict p_holm machine kernel base with differ kind";

/// A header and a line for each row. What there is no number for is empty; the last column says `simulated`.
pub fn csv(comparison: &Comparison, verdict: &Verdict<'_>) -> String {
    written(std::iter::once(header()).chain(lines(comparison, verdict)))
}

/// The same of every row of a matrix, with the name of its variant at the end. If foreign schedulers have failed at
/// some, there is a line for each of those, and a last column that says why.
pub fn of_matrix(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> String {
    let errors = !found.failed.is_empty();
    let with = |mut line: Vec<String>, last: String| {
        line.push(last);
        line.extend(errors.then(String::new));
        line
    };
    let verdicts = by_comparison(found, verdicts);
    let variants = found.variants.iter().cycle();
    let lines = found.comparisons.iter().zip(&verdicts).zip(variants).flat_map(|((comparison, verdict), variant)| {
        lines(comparison, verdict).map(move |line| with(line, text(variant)))
    });
    let mut first = with(header(), "variant".to_owned());
    if let Some(error) = first.last_mut().filter(|_| errors) {
        "error".clone_into(error);
    }
    written(std::iter::once(first).chain(lines).chain(found.failed.iter().map(failed)))
}

/// A line without numbers.
fn failed(row: &FailedRow) -> Vec<String> {
    let run = &row.failed.run;
    let (benchmark, case) = run.workload.split_once(':').unwrap_or((&run.workload, ""));
    let header = header();
    let mut line = vec![String::new(); header.len()];
    let at = header.iter().position(|name| name == "verdict").expect("it is a column");
    [line[0], line[1], line[2]] = [benchmark, case, &run.load].map(text);
    [line[at], line[at + 2], line[at + 3]] = ["failed", &run.machine, run.kernel].map(text);
    // The columns of the switches of both sides.
    line[at + 4 + usize::from(run.with)] = text(&run.variant);
    *line.last_mut().expect("it has columns") = "simulated".to_owned();
    line.extend([text(&row.side), text(&row.failed.why.to_string())]);
    line
}

fn header() -> Vec<String> {
    let of_side = |side: &'static str| names(OF_SIDE).map(move |name| format!("{side}_{name}"));
    names(COLUMNS).chain(of_side("base")).chain(of_side("with")).chain(names(OF_COMPARISON)).collect()
}

fn lines<'a>(comparison: &'a Comparison, verdict: &'a Verdict<'_>) -> impl Iterator<Item = Vec<String>> + 'a {
    let experiment = &comparison.experiment;
    comparison.rows.iter().zip(&verdict.rows).map(move |(row, judged)| line(experiment, row, judged))
}

fn line(of: &ExperimentInfo, row: &CompareRow, judged: &JudgedRow) -> Vec<String> {
    let ends = row.ci95.map_or([None; 2], |ends| ends.map(Some));
    let mut line = [&row.benchmark, &row.case, &row.load, &row.metric].map(|name| text(name)).to_vec();
    line.extend([row.base.std_pct, row.compare_pct, row.compare_std_pct, row.base.mean, row.with.mean].map(number));
    line.extend([text(&row.unit), row.base.n.to_string()]);
    line.extend([ends[0], ends[1], row.p_value].map(number_or_none));
    line.extend(of_side(&row.base));
    line.extend(of_side(&row.with));
    line.extend([judged.verdict.name().to_owned(), number_or_none(judged.p_holm)]);
    line.extend([&of.machine, &of.kernel, &of.base, &of.with].map(|name| text(name)));
    line.extend([text(&of.differ.join(" ")), "simulated".to_owned()]);
    line
}

fn of_side(side: &Side) -> impl Iterator<Item = String> {
    let search = &side.search;
    let counts = &search.counts;
    let counts = [counts.sis_search, counts.sis_domain_search, counts.sis_scanned, counts.sis_failed];
    let rates = [search.se_eff_pct, search.dom_eff_pct, search.fast_rate_pct, search.success_rate_pct];
    let counts = counts.map(|count| count.to_string()).into_iter();
    let power = side.power.as_ref();
    let power = [
        power.and_then(|power| power.energy_j),
        power.and_then(|power| power.total_mw),
        power.map(|power| power.busy_pct),
        power.map(|power| power.bzy_mhz),
        power.map(|power| power.irq_per_s),
        power.map(|power| power.idle_wakeups_per_s),
    ];
    let latency = side.wakeup_latency_ns;
    let wakeups = [
        latency.map(|ns| ns.p50),
        latency.map(|ns| ns.p95),
        latency.map(|ns| ns.p99),
        latency.map(|ns| ns.max),
        side.busy_ns_per_wakeup,
    ];
    let wakeups = [number(side.idle_pct)].into_iter().chain(wakeups.map(number_or_none));
    counts.chain(rates.map(number_or_none)).chain(wakeups).chain(power.map(number_or_none))
}
