//! Ablation tables: how many rows of the kernel's vectors the model misses with one of its rules or inputs off.
//!
//! A rule that no row needs is a rule the vectors do not test, so a table is also a statement about the vectors. The
//! tables are committed in `docs/ablation/`, and a test that makes one holds it against the committed text.

use std::fmt::{self, Write as _};
use std::path::Path;

const COMMAND: &str = "WAKELAB_BLESS=1 cargo test -p wakelab-sched ablation";

/// A rule that no row needs, and why it stays in the table.
pub struct Unshown {
    /// The file of [`Ablation::row`].
    pub file: &'static str,
    /// The rule of [`Ablation::row`].
    pub rule: &'static str,
    /// Why no row can need it.
    pub why: &'static str,
}

struct Line {
    file: String,
    rule: String,
    rows: usize,
    differing: usize,
}

/// One table.
pub struct Ablation {
    name: &'static str,
    unshown: &'static [Unshown],
    lines: Vec<Line>,
}

impl Ablation {
    /// The table of `docs/ablation/vectors-<name>.txt`, in which each rule but the `unshown` breaks some row.
    pub fn new(name: &'static str, unshown: &'static [Unshown]) -> Self {
        Ablation { name, unshown, lines: Vec::new() }
    }

    /// With `rule` off, `differing` of the `rows` rows of `file` (below `data/vectors/`) differ.
    pub fn row(&mut self, file: impl Into<String>, rule: impl Into<String>, rows: usize, differing: usize) {
        self.lines.push(Line { file: file.into(), rule: rule.into(), rows, differing });
    }

    /// Prints the table and holds it against the committed one.
    ///
    /// Vectors with other numbers (`WAKELAB_VECTORS`) give other counts, and one that is 0 there says nothing about
    /// the project's own vectors, so their table is printed only.
    pub fn check(self) {
        println!("{self}");
        if std::env::var_os("WAKELAB_VECTORS").is_some() {
            return;
        }
        self.check_that_rules_show();
        let path = format!("{}/../../docs/ablation/vectors-{}.txt", env!("CARGO_MANIFEST_DIR"), self.name);
        let path = Path::new(&path);
        if std::env::var("WAKELAB_BLESS").is_ok_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().expect("a file in a folder")).expect("docs/ablation");
            std::fs::write(path, self.to_string()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            return;
        }
        let committed =
            std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}; to write it: {COMMAND}", path.display()));
        if let Some(difference) = first_difference(&committed, &self.to_string()) {
            panic!("{} is not what the model gives; to write it anew: {COMMAND}\n{difference}", path.display());
        }
    }

    fn check_that_rules_show(&self) {
        for line in &self.lines {
            let Line { file, rule, differing, .. } = line;
            match self.unshown.iter().find(|unshown| unshown.file == file && unshown.rule == rule) {
                None => assert!(*differing > 0, "{file}: no row needs the rule: {rule}"),
                Some(_) => assert_eq!(*differing, 0, "{file}: rows need the rule after all: {rule}"),
            }
        }
        for Unshown { file, rule, .. } in self.unshown {
            let listed = self.lines.iter().any(|line| line.file == *file && line.rule == *rule);
            assert!(listed, "{file}: no such rule in the table: {rule}");
        }
    }
}

impl fmt::Display for Ablation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEAD: [&str; 4] = ["file", "off (instead)", "rows", "differing"];
        writeln!(
            f,
            "How many rows of the kernel's vectors the model misses with one rule or input off ({}).",
            self.name
        )?;
        writeln!(f, "Written by: {COMMAND}")?;
        writeln!(f)?;
        let width = |head: &str, of: fn(&Line) -> &str| {
            self.lines.iter().map(|line| of(line).chars().count()).max().unwrap_or(0).max(head.len())
        };
        let (file_width, rule_width) = (width(HEAD[0], |line| &line.file), width(HEAD[1], |line| &line.rule));
        let mut print = |[file, rule, rows, differing]: [&str; 4]| {
            writeln!(f, "{file:<file_width$}  {rule:<rule_width$}  {rows:>6}  {differing:>9}")
        };
        print(HEAD)?;
        for line in &self.lines {
            print([&line.file, &line.rule, &line.rows.to_string(), &line.differing.to_string()])?;
        }
        if !self.unshown.is_empty() {
            writeln!(f, "\nWhy some of these break no row:")?;
        }
        for Unshown { file, rule, why } in self.unshown {
            writeln!(f, "{file}, {rule}: {why}")?;
        }
        Ok(())
    }
}

/// The first line in which two texts differ.
fn first_difference(committed: &str, now: &str) -> Option<String> {
    if committed == now {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), now.lines());
    let mut message = String::new();
    loop {
        match (old.next(), new.next()) {
            (None, None) => break message.push_str("the ends of their lines differ"),
            (old, new) if old != new => {
                let text = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                break write!(message, "committed: {}\nnow:       {}", text(old), text(new)).expect("a string");
            }
            _ => {}
        }
    }
    Some(message)
}
