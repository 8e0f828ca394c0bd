//! `cargo xtask bench instructions`: what an operation costs, in instructions.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::examples;
use crate::programs::{on_path, program, root};

const NAME: &str = "cargo xtask bench instructions";
const LIMITS: &str = "tools/bench/instructions.limits";
const PAGE: &str = "docs/benchmarks.md";
/// What the page calls otherwise.
const OF_PAGE: &str = "wake-up: ";

/// Counts the instructions of single operations and compares them with tools/bench/instructions.limits
///
/// Instructions, unlike times, are the same on a busy machine. They are counted by callgrind (Debian: apt install
/// valgrind), only while crates/sched/examples/count_instructions.rs, crates/sim/examples/count_wakeup_instructions.rs,
/// crates/scx-bpf/examples/count_scx_instructions.rs and crates/perfetto/examples/count_trace_instructions.rs are in
/// their function `measured`, so that preparations do not count; each call of the function is one workload, and
/// callgrind writes one file for each.
///
/// The compiler decides too: after a change of the toolchain or of the release profile compare with the commit before
/// it. With RUSTFLAGS set or the like, the limits mean nothing.
#[derive(clap::Args, Default)]
pub struct Arguments {
    /// Only the workloads whose names contain this
    name_part: Option<String>,
    /// Measures all and writes the limits anew, 10% above what was measured, and the column of instructions in
    /// docs/benchmarks.md, which may be 2% off
    #[arg(long, conflicts_with = "name_part")]
    update: bool,
}

/// What one operation took, or may take.
#[derive(Debug, PartialEq)]
struct Count {
    instructions: u64,
    name: String,
}

/// Counts, updates if asked to, and compares.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if !on_path("valgrind") {
        eprintln!("{NAME}: valgrind is not installed");
        return Ok(2);
    }
    let built = examples()?;
    let mut counts = Vec::new();
    let part = arguments.name_part.as_deref().unwrap_or_default();
    for example in
        ["count_instructions", "count_wakeup_instructions", "count_scx_instructions", "count_trace_instructions"]
    {
        match count(&built.join(example), example, part)? {
            Ok(more) => counts.extend(more),
            Err(why) => {
                eprintln!("{why}");
                return Ok(2);
            }
        }
    }
    if counts.is_empty() {
        eprintln!("{NAME}: no workload with that name");
        return Ok(2);
    }
    let (limits, page) = (root().join(LIMITS), root().join(PAGE));
    if arguments.update {
        fs::write(&limits, new_limits(&fs::read_to_string(&limits)?, &counts))?;
        fs::write(&page, new_page(&fs::read_to_string(&page)?, &counts))?;
    }
    let all = arguments.name_part.is_none();
    let limits =
        read(&fs::read_to_string(&limits)?).with_context(|| format!("{LIMITS}: expected a number and a tab"))?;
    let (table, held) = against_limits(&limits, &counts, all);
    print!("{table}");
    if !held {
        return Ok(1);
    }
    let wrong = against_page(&fs::read_to_string(&page)?, &counts, all);
    print!("{wrong}");
    Ok(u8::from(!wrong.is_empty()))
}

/// The instructions of one operation of each workload of an example, or what kept callgrind from counting.
fn count(path: &Path, example: &str, part: &str) -> Result<Result<Vec<Count>, String>> {
    let work = tempfile::tempdir()?;
    let mut valgrind = program("valgrind");
    valgrind.arg("--tool=callgrind");
    valgrind.arg(format!("--toggle-collect={example}::measured")).arg(format!("--dump-after={example}::measured"));
    valgrind.arg(format!("--callgrind-out-file={}", work.path().join("counted").display()));
    let output = valgrind.arg(path).arg(part).output()?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned()));
    }
    let mut counts = Vec::new();
    for (at, workload) in
        read(&String::from_utf8(output.stdout)?).context("expected operations and a tab")?.into_iter().enumerate()
    {
        let counted = fs::read_to_string(work.path().join(format!("counted.{}", at + 1))).unwrap_or_default();
        let total = counted.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok());
        let Count { instructions: operations, name } = workload;
        let Some(total) = total else {
            return Ok(Err(format!("{NAME}: callgrind counted nothing for \"{name}\"; is {example} stripped?")));
        };
        counts.push(Count { instructions: (total + operations / 2) / operations, name });
    }
    Ok(Ok(counts))
}

/// Lines of a number, a tab and a name, without those of comments.
fn read(text: &str) -> Option<Vec<Count>> {
    let line = |line: &str| {
        let (instructions, name) = line.split_once('\t')?;
        Some(Count { instructions: instructions.parse().ok()?, name: name.to_owned() })
    };
    text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

/// The limits with the comments that they had.
fn new_limits(limits: &str, counts: &[Count]) -> String {
    let comments = limits.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    let limit = |count: &Count| format!("{}\t{}\n", count.instructions + count.instructions.div_ceil(10), count.name);
    comments.chain(counts.iter().map(limit)).collect()
}

/// The counts that the page has, by the names that it has for them.
fn of_page(counts: &[Count]) -> impl Iterator<Item = (&str, u64)> {
    counts.iter().filter_map(|count| Some((count.name.strip_prefix(OF_PAGE)?, count.instructions)))
}

/// The name and the instructions of a row `| name | instructions | ...`.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.split('|').map(str::trim);
    Some((cells.nth(1)?, cells.next()?))
}

/// The page with what was measured.
fn new_page(page: &str, counts: &[Count]) -> String {
    let line = |line: &str| {
        let (name, old) = row(line)?;
        let (_, new) = of_page(counts).find(|(other, _)| *other == name)?;
        Some(line.replacen(&format!("| {old} |"), &format!("| {} |", thousands(new)), 1))
    };
    page.lines().map(|old| line(old).unwrap_or_else(|| old.to_owned()) + "\n").collect()
}

/// `12345` as `12,345`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table of what was counted, and whether all of it is within its limit; with `all` also whether each limit is of
/// an operation.
fn against_limits(limits: &[Count], counts: &[Count], all: bool) -> (String, bool) {
    let mut table = format!("{:>12} {:>12}  {}\n", "instructions", "limit", "operation");
    let mut held = true;
    for Count { instructions, name } in counts {
        let limit = limits.iter().find(|limit| limit.name == *name).map(|limit| limit.instructions);
        let note = match limit {
            None => "   HAS NO LIMIT".to_owned(),
            Some(limit) if *instructions > limit => {
                format!("   ABOVE ITS LIMIT by {:.0}%", 100.0 * (*instructions as f64 / limit as f64 - 1.0))
            }
            Some(_) => String::new(),
        };
        held &= note.is_empty();
        let limit = limit.map_or("-".to_owned(), |limit| limit.to_string());
        writeln!(table, "{instructions:>12} {limit:>12}  {name}{note}").expect("a string takes all");
    }
    let seen: HashSet<&str> = counts.iter().map(|count| count.name.as_str()).collect();
    for Count { name, .. } in limits.iter().filter(|limit| all && !seen.contains(limit.name.as_str())) {
        writeln!(table, "there is no operation \"{name}\" any more").expect("a string takes all");
        held = false;
    }
    (table, held)
}

/// What the page has wrong by more than 2%, a line each; with `all` also what it does not have.
fn against_page(page: &str, counts: &[Count], all: bool) -> String {
    let mut wrong = String::new();
    let rows: Vec<(&str, &str)> = page.lines().filter_map(row).collect();
    for (name, counted) in of_page(counts) {
        let mut found = rows.iter().filter(|(other, _)| *other == name).peekable();
        if all && found.peek().is_none() {
            writeln!(wrong, "{PAGE} has no row \"{name}\"").expect("a string takes all");
        }
        for (_, said) in found {
            let said: u64 = said.replace(',', "").parse().unwrap_or(0);
            if (said as f64 / counted as f64 - 1.0).abs() > 0.02 {
                writeln!(
                    wrong,
                    "{PAGE} has {said} instructions for \"{name}\", measured were {counted}: {NAME} --update"
                )
                .expect("a string takes all");
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_OF_TWO: &str =
        "# Page\n\n| run | instructions |\n|---|--:|\n| 2 tasks | 1,000 |\n| 8 tasks | 985 | x |\n";

    fn counts(list: &[(u64, &str)]) -> Vec<Count> {
        list.iter().map(|&(instructions, name)| Count { instructions, name: name.to_owned() }).collect()
    }

    #[test]
    fn limits_are_a_tenth_above_and_keep_their_comments() {
        let new = new_limits("# Why\n5\told\n", &counts(&[(100, "a"), (101, "b")]));
        assert_eq!(new, "# Why\n110\ta\n112\tb\n");
        assert_eq!(read(&new), Some(counts(&[(110, "a"), (112, "b")])));
        assert_eq!(read("a\t1\n"), None);
    }

    #[test]
    fn what_is_above_its_limit_is_told() {
        let limits = counts(&[(100, "a"), (100, "b"), (7, "gone")]);
        let (table, held) = against_limits(&limits, &counts(&[(100, "a"), (150, "b"), (3, "new")]), true);
        let expected = "instructions        limit  operation\n         100          100  a\n         \
                        150          100  b   ABOVE ITS LIMIT by 50%\n           3            -  new   HAS NO LIMIT\n\
                        there is no operation \"gone\" any more\n";
        assert_eq!((table.as_str(), held), (expected, false));
        assert!(against_limits(&limits, &counts(&[(99, "a")]), false).1);
    }

    #[test]
    fn the_page_may_be_two_percent_off() {
        let measured = counts(&[(1020, "wake-up: 2 tasks"), (1000, "wake-up: 8 tasks"), (5, "PELT: 2 tasks")]);
        assert_eq!(against_page(PAGE_OF_TWO, &measured, true), "");
        let measured = counts(&[(12_345, "wake-up: 2 tasks"), (1000, "wake-up: 9 tasks")]);
        let expected = "docs/benchmarks.md has 1000 instructions for \"2 tasks\", measured were 12345: \
                        cargo xtask bench instructions --update\ndocs/benchmarks.md has no row \"9 tasks\"\n";
        assert_eq!(against_page(PAGE_OF_TWO, &measured, true), expected);
        let page = new_page(PAGE_OF_TWO, &measured);
        assert_eq!(page, PAGE_OF_TWO.replace("1,000", "12,345"));
    }

    #[test]
    fn the_page_and_the_limits_of_this_repository_are_read() {
        let limits = read(&fs::read_to_string(root().join(LIMITS)).expect(LIMITS)).expect("limits");
        let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
        let rows: Vec<_> = page.lines().filter_map(row).collect();
        let named: Vec<_> = of_page(&limits).collect();
        assert!(named.len() > 5 && named.iter().all(|(name, _)| rows.iter().any(|(other, _)| other == name)));
        assert_eq!(thousands(7) + &thousands(1_234_567), "71,234,567");
    }
}
