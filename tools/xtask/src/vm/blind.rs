//! `cargo xtask vm blind`: what captures of a guest predict, and what guests of the other sides then did.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::Value;

use super::{blind_page, qemu10, wakelab};
use crate::programs::{program_here, run as run_program, said, tee};

/// What a capture predicts for another policy or kernel, and what a guest with that then did
///
/// The four steps are apart, so that predictions can be committed before anybody knows the outcome. Guests are
/// `counted` (tools/vm/run), so that a busy host does not show.
#[derive(clap::Args)]
pub struct Arguments {
    step: Step,
    /// Where all of it is
    folder: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Step {
    /// Records loads in a guest with 6.12, and what scheduling costs there, in FOLDER/base
    Base,
    /// Captures each load; writes FOLDER/predicted.tsv, and in FOLDER/predicted a machine for each load
    Predict,
    /// Records the same loads in a guest for each side, in FOLDER/SIDE
    Outcomes,
    /// The page docs/evidence/blind.md on standard output, from all of them
    Page,
}

/// What is recorded, each with its pairs.
const LOADS: [&str; 6] = ["pipe-3", "tcp-3", "futex-3", "message-2", "pipe-6", "futex-6"];

/// Loads take seconds of the guest's time; the first one passes before windows begin.
const FROM: &str = "1s";

const RECORD: &str = r#"mkdir rec
for load in "pipe 3 1500" "tcp 3 1500" "futex 3 1000" "message 2 300" "pipe 6 1200" "futex 6 1000"; do
    set -- $load
    wakelab-record --workload "$1 $2" -o "rec/$1-$2" -- wakelab-load $load >/dev/null || exit 1
done"#;

/// A side, its kernel, and what is switched there.
struct Side {
    name: &'static str,
    kernel: &'static str,
    switched: Option<&'static str>,
}

const SIDES: [Side; 4] = [
    Side { name: "NO_SIS_UTIL", kernel: "6.12", switched: Some("NO_SIS_UTIL") },
    Side { name: "NO_WA_WEIGHT", kernel: "6.12", switched: Some("NO_WA_WEIGHT") },
    Side { name: "v6.1", kernel: "6.1", switched: None },
    Side { name: "v7.2", kernel: "7.2", switched: None },
];

/// Runs a step.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let blind = Blind { wakelab: wakelab()?, folder: std::path::absolute(&arguments.folder)? };
    match arguments.step {
        Step::Base => blind.base(),
        Step::Predict => blind.predict(),
        Step::Outcomes => blind.outcomes(),
        Step::Page => blind.page(),
    }
}

/// Where the steps find each other.
struct Blind {
    wakelab: PathBuf,
    folder: PathBuf,
}

impl Blind {
    fn base(&self) -> Result<u8> {
        fs::create_dir_all(&self.folder)?;
        let [stripped, base] = ["wakelab", "base"].map(|name| self.folder.join(name));
        if run_program(program_here("strip").arg("-o").arg(&stripped).arg(&self.wakelab))? != 0 {
            fs::copy(&self.wakelab, &stripped)?;
        }
        let library = said(program_here("gcc").arg("-print-file-name=libgcc_s.so.1"))?;
        let script = format!(
            "{RECORD}\nwakelab calibrate -o calibrated.toml --time 15s --name guest --format json >calibrated.json"
        );
        let mut guest = guest("6.12", &base)?;
        guest.args(["--memory", "2048", "--put"]).arg(format!("{}:/bin/wakelab", stripped.display()));
        guest.arg("--put").arg(format!("{library}:/lib/x86_64-linux-gnu/libgcc_s.so.1"));
        for file in ["calibrated.toml", "calibrated.json"] {
            guest.arg("--get").arg(format!("{file}:{}", self.folder.join(file).display()));
        }
        guest.args(["--", &script]);
        // What the recorder says of itself is read later.
        let code = tee(guest, &self.folder.join("base.log"), true)?;
        fs::remove_file(stripped)?;
        Ok(code)
    }

    fn predict(&self) -> Result<u8> {
        let calibrated = fs::read_to_string(self.folder.join("calibrated.toml"))?;
        let measured = serde_json::from_str(&fs::read_to_string(self.folder.join("calibrated.json"))?)?;
        let futex_half = futex_half(&measured).context("calibrated.json lacks a measurement of the futex ping-pong")?;
        let log = fs::read_to_string(self.folder.join("base.log"))?;
        fs::create_dir_all(self.folder.join("predicted"))?;
        let mut predicted = String::new();
        for load in LOADS {
            // How busy it was is known without any cost.
            let said = self.whatif(load, &self.folder.join("calibrated.toml"), &[])?;
            let busy = said["capture"]["busy_pct"].as_f64().context("the capture says nothing of busy CPUs")?;
            let recorder = recorder_ns(&log, load).with_context(|| format!("base.log has no overhead of {load}"))?;
            let machine = self.machine(load);
            fs::write(&machine, machine_of(&calibrated, busy / 100.0 * 8.0, recorder, futex_half))?;
            for side in &SIDES {
                let out = self.folder.join(format!("predicted/{load}.{}.json", side.name));
                let said = self.whatif_text(load, &machine, &side.ask())?;
                fs::write(out, format!("{said}\n"))?;
                predicted.extend(rows_of(load, side.name, &serde_json::from_str(&said)?).iter().map(Row::line));
            }
        }
        fs::write(self.folder.join("predicted.tsv"), predicted)?;
        Ok(0)
    }

    fn outcomes(&self) -> Result<u8> {
        for side in &SIDES {
            let before = side.switched.map(|feature| format!("echo {feature} >/sys/kernel/debug/sched/features"));
            let script = format!("{}\n{RECORD}", before.unwrap_or_default());
            let mut guest = guest(side.kernel, &self.folder.join(side.name))?;
            match run_program(guest.args(["--", &script]).stdin(Stdio::null()))? {
                0 => {}
                code => return Ok(code),
            }
        }
        Ok(0)
    }

    fn page(&self) -> Result<u8> {
        let mut rows = Vec::new();
        for load in LOADS {
            for side in &SIDES {
                let outcome = self.folder.join(side.name).join(load);
                let mut ask = side.ask();
                ask.extend(["--came-out".to_owned(), outcome.display().to_string()]);
                rows.extend(rows_of(load, side.name, &self.whatif(load, &self.machine(load), &ask)?));
            }
        }
        // What is shown as predicted is what was predicted then. Reasons that only came out are new rows.
        let then = fs::read_to_string(self.folder.join("predicted.tsv"))?;
        let changed = changed(&then, &rows);
        if !changed.is_empty() {
            eprint!("{changed}");
            return Ok(1);
        }
        print!("{}", blind_page::page(&rows));
        Ok(0)
    }

    /// The machine of a load.
    fn machine(&self, load: &str) -> PathBuf {
        self.folder.join(format!("predicted/{load}.machine.toml"))
    }

    /// What a capture of a load says.
    fn whatif(&self, load: &str, machine: &Path, more: &[String]) -> Result<Value> {
        let said = self.whatif_text(load, machine, more)?;
        serde_json::from_str(&said).context("wakelab whatif printed no JSON")
    }

    /// The same, as it was written.
    fn whatif_text(&self, load: &str, machine: &Path, more: &[String]) -> Result<String> {
        let mut whatif = program_here(&self.wakelab);
        whatif.arg("whatif").arg(self.folder.join("base").join(load)).arg("--machine").arg(machine);
        said(whatif.args(["--from", FROM]).args(more).args(["--format", "json"]))
    }
}

impl Side {
    /// The arguments of `wakelab whatif`.
    fn ask(&self) -> Vec<String> {
        let ask = match self.switched {
            Some(feature) => ["--with".to_owned(), feature.to_owned()],
            None => ["--to-kernel".to_owned(), format!("v{}", self.kernel)],
        };
        ask.into_iter().chain(["--anyway".to_owned()]).collect()
    }
}

/// A guest whose recordings come to a folder; what it runs is not there yet.
fn guest(kernel: &str, to: &Path) -> Result<Command> {
    let mut guest = program_here("tools/vm/run");
    guest.args(["--kernel", kernel, "--topology", "1x1x4x2", "--cpu-accel", "counted", "--timeout", "1800"]);
    guest.arg("--qemu").arg(qemu10()?).arg("--get").arg(format!("rec:{}", to.display()));
    Ok(guest)
}

/// Half of a round of the futex ping-pong between two threads, without what both do besides, in ns.
fn futex_half(calibrated: &Value) -> Option<u64> {
    // Those of one CPU come first.
    let median = |what: &str| {
        let measured = calibrated["measured"].as_array()?.iter().find(|of| of["what"] == what)?;
        measured["spread"]["median"].as_f64()
    };
    let round = median("futex ping-pong")?;
    let both = round - median("futex wake, nobody woken")? - median("futex wait that does not wait")?;
    Some(((both - median("switch between threads")?) / 2.0) as u64)
}

/// What the recorder says that it added to a wake-up of a load, in ns.
fn recorder_ns(log: &str, load: &str) -> Option<f64> {
    let of_load = format!("rec/{load}");
    let mut lines = log.lines().skip_while(|line| line.split_whitespace().nth(3) != Some(&of_load));
    lines.find_map(|line| line.strip_prefix("overhead:")?.split_whitespace().next()?.parse().ok())
}

/// The machine of a load.
///
/// CPUs of a counted guest take turns on one thread, so that a cost lasts as many times as long as CPUs are busy on
/// average, and so does the recorder's part of each decision, which it measured under that load.
fn machine_of(calibrated: &str, busy: f64, recorder_ns: f64, futex_half: u64) -> String {
    let mut text = String::new();
    let mut section = "";
    let mut lines = calibrated.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            section = line;
        }
        let cost =
            line.split_once(" = ").filter(|(unit, _)| section.starts_with("[costs.") && ["ns", "pct"].contains(unit));
        if let Some((unit, value)) = cost {
            let value = match (section, unit) {
                ("[costs.smt_slowdown]", _) => "100".to_owned(),
                (_, "pct") => value.to_owned(),
                _ => {
                    // The pairs of the pipe ping-pong disagree with those of the futex ping-pong, which is the shorter
                    // one.
                    let of_futex = ["[costs.wakeup]", "[costs.enqueue_local]"].contains(&section);
                    let ns = if of_futex { futex_half as f64 } else { value.parse().unwrap_or(0.0) };
                    let recorder = if section == "[costs.wakeup]" { recorder_ns } else { 0.0 };
                    ((ns * busy + recorder) as u64).to_string()
                }
            };
            writeln!(text, "{unit} = {value}\nrange = [{value}, {value}]").expect("a string takes all");
            // Its own range.
            lines.next();
        } else if line.starts_with("measured = ") || line.starts_with("assumed = ") {
            text += "assumed = \"calibrated in the guest, times the CPUs that were busy under this load\"\n";
        } else {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// A row of a prediction; what is not known is `null`.
#[derive(Clone)]
pub struct Row {
    /// `pipe-3`.
    pub load: String,
    /// `v7.2`.
    pub side: String,
    /// What it is of.
    pub quantity: String,
    /// `us`, `/s`, `%`.
    pub unit: String,
    /// Before, as it was recorded.
    pub recorded: String,
    /// Before, as it is simulated.
    pub simulated: String,
    /// After, as it is simulated.
    pub predicted: String,
    /// After, as it was recorded.
    pub came_out: String,
    /// How alike the last two are: `faithful`, `roughly` or `not`.
    pub alike: String,
}

impl Row {
    fn line(&self) -> String {
        let Self { load, side, quantity, unit, recorded, simulated, predicted, came_out, alike } = self;
        [load, side, quantity, unit, recorded, simulated, predicted, came_out, alike].map(String::as_str).join("\t")
            + "\n"
    }
}

/// The rows of what `wakelab whatif` says.
fn rows_of(load: &str, side: &str, said: &Value) -> Vec<Row> {
    let row = |of: &Value| {
        let field = |name: &str| match &of[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Row {
            load: load.to_owned(),
            side: side.to_owned(),
            quantity: field("quantity"),
            unit: field("unit"),
            recorded: field("recorded"),
            simulated: field("simulated"),
            predicted: field("predicted"),
            came_out: field("came_out"),
            alike: field("alike"),
        }
    };
    said["predictions"][0]["rows"].as_array().into_iter().flatten().map(row).collect()
}

/// The rows for which another value was predicted then, a line each.
fn changed(then: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for line in then.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [load, side, quantity, _, _, _, predicted, ..] = fields[..] else { continue };
        let same = |row: &&Row| row.load == load && row.side == side && row.quantity == quantity;
        for row in rows.iter().filter(same).filter(|row| row.predicted != predicted) {
            let now = &row.predicted;
            writeln!(text, "cargo xtask vm blind: {load} {side}: {quantity}: predicted {now}, then {predicted}")
                .expect("a string takes all");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn costs_last_as_long_as_cpus_take_turns() {
        let calibrated = "\
name = \"guest\"
[costs.wakeup]
ns = 900
range = [800, 1000]
measured = \"pipe ping-pong\"
[costs.switch]
ns = 101
range = [90, 110]
[costs.smt_slowdown]
pct = 130
range = [120, 140]
[caches]
ns = 3
";
        let expected = "\
name = \"guest\"
[costs.wakeup]
ns = 1050
range = [1050, 1050]
assumed = \"calibrated in the guest, times the CPUs that were busy under this load\"
[costs.switch]
ns = 252
range = [252, 252]
[costs.smt_slowdown]
pct = 100
range = [100, 100]
[caches]
ns = 3
";
        assert_eq!(machine_of(calibrated, 2.5, 50.0, 400), expected);
    }

    #[test]
    fn half_a_futex_round_is_without_what_both_do_besides() {
        let of = |what: &str, median: f64| json!({"what": what, "spread": {"median": median}});
        let measured = json!({"measured": [
            of("futex ping-pong", 2000.0), of("futex ping-pong", 9000.0), of("futex wake, nobody woken", 100.0),
            of("futex wait that does not wait", 150.0), of("switch between threads", 250.0),
        ]});
        assert_eq!(futex_half(&measured), Some(750));
        assert_eq!(futex_half(&json!({})), None);
    }

    #[test]
    fn the_recorder_says_what_it_adds() {
        let log =
            "10 wake-ups in rec/pipe-3\noverhead: 100 ns a wake-up\n10 wake-ups in rec/tcp-3\noverhead: 120.5 ns\n";
        assert_eq!(recorder_ns(log, "tcp-3"), Some(120.5));
        assert_eq!(recorder_ns(log, "pipe-3"), Some(100.0));
        assert_eq!(recorder_ns(log, "futex-3"), None);
    }

    #[test]
    fn a_prediction_that_changed_is_told() {
        let row = json!({"quantity": "wait p50", "unit": "us", "recorded": 5, "simulated": 6.5, "predicted": 7,
            "came_out": null, "alike": null});
        let rows = rows_of("pipe-3", "v7.2", &json!({"predictions": [{"rows": [row]}]}));
        assert_eq!(rows[0].line(), "pipe-3\tv7.2\twait p50\tus\t5\t6.5\t7\tnull\tnull\n");
        assert_eq!(changed(&rows[0].line(), &rows), "");
        let then = rows[0].line().replace("\t7\t", "\t8\t");
        let expected = "cargo xtask vm blind: pipe-3 v7.2: wait p50: predicted 7, then 8\n";
        assert_eq!(changed(&then, &rows), expected);
    }
}
