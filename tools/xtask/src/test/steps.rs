//! The steps of `./test`: what each needs, and what it runs.

use anyhow::Result;

use super::{changed, crates, not_run, style};
use crate::bench::{instructions, same_bytes};
use crate::programs::{on_path, program, run, run_all, said, variable};
use crate::vm::matrix;

/// A step of `./test`.
pub struct Step {
    /// By which it is called.
    pub name: &'static str,
    /// `quick`, `ci`, `all`, with blanks between.
    pub sets: &'static str,
    /// What it does, for `--list`.
    pub does: &'static str,
    /// Where it runs.
    pub lane: Lane,
    /// The Debian packages that it takes and this machine lacks.
    pub packages: fn() -> Result<Vec<String>>,
    /// Runs it: the exit code, 77 if it was not run.
    pub run: fn() -> Result<u8>,
}

/// What runs one after the other. Lanes run side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// What is built of the workspace.
    First,
    /// Most of what it builds is of other workspaces, so that it seldom waits for the build of the first. The clock of
    /// the guests of guest-scx counts instructions, so that no time in them depends on what runs beside.
    Guests,
    /// It begins when the tests have been built.
    Pages,
}

impl Step {
    /// Whether it is in the set `quick`, `ci` or `all`.
    pub fn is_in(&self, set: &str) -> bool {
        self.sets.split(' ').any(|other| other == set)
    }

    const fn with(mut self, packages: fn() -> Result<Vec<String>>) -> Self {
        self.packages = packages;
        self
    }

    const fn on(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }
}

const fn step(name: &'static str, sets: &'static str, does: &'static str, run: fn() -> Result<u8>) -> Step {
    Step { name, sets, does, lane: Lane::First, packages: || Ok(Vec::new()), run }
}

/// All steps, in the order in which they run.
pub const STEPS: &[Step] = &[
    step("style", "quick ci", "no line over 120 columns, scripts pass shellcheck", style::run)
        .with(|| Ok(unless_on_path("shellcheck"))),
    step("format", "quick ci", "cargo fmt", style::format),
    step("clippy", "quick ci", "cargo clippy of the workspace, warnings are errors", || {
        run(program("cargo").args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
    }),
    step(
        "changed",
        "quick",
        "unit, property and integration tests of the crates that differ from the upstream branch",
        changed::run,
    ),
    step("crates", "ci", "unit, property and integration tests of all crates", crates::run),
    step(
        "schedulers",
        "ci",
        "compiles schedulers from crates and sources, and runs them (clang 18 or newer, the crate registry)",
        schedulers,
    )
    .with(|| named_by("WAKELAB_SCHEDULERS", &[&["crates/scx-fetch/packages"]])),
    step("doc", "ci", "cargo doc without warnings", || {
        let mut doc = program("cargo");
        run(doc.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))
    }),
    step("same-bytes", "ci", "one seed is one run: every event in the dev and the release profile", || {
        same_bytes::run()
    }),
    step("instructions", "ci", "instruction counts of single operations against their limits (valgrind)", || {
        instructions::run(&instructions::Arguments::default())
    })
    .with(|| Ok(unless_on_path("valgrind"))),
    step("perfetto", "ci", "traces in Perfetto's own trace processor (node, pip)", || {
        script(&["crates/perfetto/check/run"])
    })
    .on(Lane::Pages),
    step("browser", "ci", "pages of every command in a real browser (chromium, node, npm)", || {
        script(&["crates/page/browser-test/run"])
    })
    .with(browser)
    .on(Lane::Pages),
    step(
        "playground",
        "ci",
        "the playground under node and in a real browser, with the program's numbers (chromium, node, npm)",
        || script(&["crates/playground/browser-test/run"]),
    )
    .with(browser)
    .on(Lane::Pages),
    step("python", "ci", "the package for Python: wheel, types, tests, a notebook (python3-venv, pip)", || {
        script(&["crates/python/test"])
    })
    .with(python)
    .on(Lane::Pages),
    step("record", "ci", "builds, lints and tests wakelab-record (clang, libelf)", || script(&["crates/record/test"]))
        .with(|| named_by("WAKELAB_VM", &[&["crates/record/packages"]]))
        .on(Lane::Guests),
    step("scx", "ci", "builds, lints and tests scx_wakelab (clang 16 or newer, libelf)", || {
        script(&["crates/scx-wakelab/test-build"])
    })
    .with(|| named_by("WAKELAB_VM", &[&["crates/scx-wakelab/packages"]]))
    .on(Lane::Guests),
    step("guest-record", "ci", "records in a guest of 7.2, and compares the model with its decisions (QEMU)", || {
        script(&["tools/vm/test"])
    })
    .with(guests)
    .on(Lane::Guests),
    step("guest-scx", "ci", "runs the policies under sched_ext in a guest (QEMU)", || {
        script(&["crates/scx-wakelab/test"])
    })
    .with(guests_with_schedulers)
    .on(Lane::Guests),
    step("guest-matrix", "all", "records on every kernel and topology, and compares (an hour)", || {
        matrix::run(&matrix::Arguments::default())
    })
    .with(guests)
    .on(Lane::Guests),
    step("guest-scx-all", "all", "guest-scx on every topology, with control groups and unequal CPUs", || {
        script(&["crates/scx-wakelab/test", "all"])
    })
    .with(guests_with_schedulers)
    .on(Lane::Guests),
    step("soak", "all", "ten minutes of mixed load under sched_ext", || script(&["crates/scx-wakelab/soak"]))
        .with(guests_with_schedulers)
        .on(Lane::Guests),
    step("many-cases", "all", "a million cases of each property that the scheduler's arithmetic has", || {
        let mut test = program("cargo");
        test.args(["test", "--workspace", "--locked", "--test", "groups", "--test", "pelt", "--test", "placement"]);
        run(test.env("PROPTEST_CASES", "1000000"))
    }),
    step(
        "fuzz",
        "all",
        "half an hour of fuzzing, and of random experiments by the checked and the release build",
        || script(&["fuzz/soak", "0.5"]),
    ),
    step("deny", "all", "licences, sources and advisories of all dependencies (cargo-deny)", deny),
];

/// Runs a script of the repository.
fn script(words: &[&str]) -> Result<u8> {
    run(program(words[0]).args(&words[1..]))
}

fn unless_on_path(name: &str) -> Vec<String> {
    if on_path(name) { Vec::new() } else { vec![name.to_owned()] }
}

/// The packages that scripts name, unless a variable says that the step does nothing.
fn named_by(switch: &str, scripts: &[&[&str]]) -> Result<Vec<String>> {
    let mut packages = Vec::new();
    if variable(switch).as_deref() != Some("0") {
        for words in scripts {
            let said = said(program(words[0]).args(&words[1..]))?;
            packages.extend(said.split_whitespace().map(str::to_owned));
        }
    }
    Ok(packages)
}

fn browser() -> Result<Vec<String>> {
    named_by("WAKELAB_BROWSER", &[&["crates/page/browser-test/packages"]])
}

fn guests() -> Result<Vec<String>> {
    named_by("WAKELAB_VM", &[&["tools/vm/packages"]])
}

fn guests_with_schedulers() -> Result<Vec<String>> {
    named_by("WAKELAB_VM", &[&["tools/vm/packages"], &["crates/scx-wakelab/packages", "guests"]])
}

fn python() -> Result<Vec<String>> {
    let has_it = || program("python3").args(["-c", "import ensurepip"]).output().is_ok_and(|it| it.status.success());
    let needed = variable("WAKELAB_PYTHON").as_deref() != Some("0") && !has_it();
    Ok(if needed { vec!["python3-venv".to_owned()] } else { Vec::new() })
}

fn schedulers() -> Result<u8> {
    if variable("WAKELAB_SCHEDULERS").as_deref() == Some("0") {
        return not_run("WAKELAB_SCHEDULERS is 0");
    }
    // Of all programs, which have been built: for a package alone cargo would choose other features of its libraries.
    let mut test = program("cargo");
    test.args(["test", "--quiet", "--workspace", "--locked", "--lib", "--tests", "--"]);
    run(test.args(["schedulers_by_name", "hostile_schedulers", "compile::"]).env("WAKELAB_SCHEDULERS", "1"))
}

fn deny() -> Result<u8> {
    if !on_path("cargo-deny") {
        return not_run("cargo-deny is missing (cargo install cargo-deny --locked)");
    }
    let manifests = ["Cargo.toml", "crates/record/Cargo.toml", "crates/scx-wakelab/Cargo.toml"];
    run_all(&mut manifests.map(|manifest| {
        let mut deny = program("cargo");
        deny.args(["deny", "--manifest-path", manifest, "--config", "tools/deny.toml", "check"]);
        deny
    }))
}
