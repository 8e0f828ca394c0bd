//! Scores of candidates on panels, with a stand-in for the simulator: SIS_UTIL does about 200 transactions, and 100
//! without it.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_study::experiment::Panel;
use wakelab_study::runs::Runner;
use wakelab_study::score::{Candidate, Rung, Score, ScoreError, Scoring, score};
use wakelab_testing::fake_runner::Fake;

const PANEL: &str = r#"
base = "NO_SIS_UTIL"
seed = 7
give_up_pct = 5

[fast]
time = "1ms"
settle = "1ms"
repeats = 2

[full]
time = "2ms"
settle = "1ms"
repeats = 3

[[part]]
machines = ["test-8c", "test-2c"]
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "1,2" }]

[[part]]
machine = "test-2s"
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "4" }]
weight = 3

[[part]]
machine = "test-2s"
kernel = "v7.2"
workload = [{ name = "netperf:TCP_RR", load = "8" }]
held_out = true
"#;

fn parse(toml: &str) -> Result<Panel, String> {
    Panel::parse(Path::new("panel.toml"), toml).map_err(|error| error.to_string())
}

fn of(panel: &str, switches: &str, last: Rung, held_out: bool) -> Result<Score, ScoreError> {
    with(&Fake::default(), panel, Candidate { switches, last, held_out })
}

fn with(runner: &dyn Runner, panel: &str, candidate: Candidate<'_>) -> Result<Score, ScoreError> {
    let (panel, stop) = (parse(panel).expect("a panel"), AtomicBool::new(false));
    score(&panel, candidate, &Scoring { runner, jobs: 1, progress: &(), stop: &stop })
}

#[test]
fn a_score_is_of_all_rows_that_are_not_held_out() {
    let found = of(PANEL, "SIS_UTIL", Rung::Full, false).expect("a score");
    assert_eq!((found.rung, found.gave_up, found.rows.len()), (Rung::Full, false, 5));
    let weights: Vec<u32> = found.rows.iter().map(|row| row.weight).collect();
    assert_eq!(weights, [1, 1, 1, 1, 3]);
    let logs = |row: &wakelab_study::score::ScoredRow| f64::from(row.weight) * (row.row.compare_pct / 100.0).ln_1p();
    let expected = 100.0 * (found.rows.iter().map(logs).sum::<f64>() / 7.0).exp_m1();
    assert!((found.mean.pct - expected).abs() < 1e-9, "{} is not {expected}", found.mean.pct);
    assert!(found.mean.probability_better.expect("repeats") > 0.999);
    // netperf is in the published tables.
    assert!(found.rows.iter().all(|row| row.known.is_some() && row.row.base.n == 3));
    let held_out = of(PANEL, "SIS_UTIL", Rung::Full, true).expect("a score");
    assert_eq!(held_out.rows.iter().map(|row| row.judged.kernel.as_str()).collect::<Vec<_>>(), ["v7.2"]);
}

/// Holm's correction of the least p is by the number of rows of all parts that are tested.
#[test]
fn parts_are_one_table() {
    let found = of(PANEL, "SIS_UTIL", Rung::Full, false).expect("a score");
    let least = found.rows.iter().min_by(|a, b| a.row.p_value.partial_cmp(&b.row.p_value).unwrap()).unwrap();
    let (p, corrected) = (least.row.p_value.expect("repeats"), least.judged.p_holm.expect("repeats"));
    assert!((corrected / p - 5.0).abs() < 1e-9, "{p} became {corrected}");
    let twice = PANEL.replace(
        "[[part]]\nmachine = \"test-2s\"\nkernel = \"v6.12\"\nworkload = [{ name = \"netperf:TCP_RR\", load = \"4\"",
        "[[part]]\nmachine = \"test-8c\"\nkernel = \"v6.12\"\nworkload = [{ name = \"netperf:TCP_RR\", load = \"2\"",
    );
    assert_ne!(twice, PANEL);
    let refused = of(&twice, "SIS_UTIL", Rung::Full, false).expect_err("two rows are the same").to_string();
    assert!(refused.contains("netperf:TCP_RR 2 threads on test-8c, v6.12 is in two parts"), "{refused}");
    // On other CPUs it is another row.
    assert!(of(&twice.replace("weight = 3", "weight = 3\npinned = \"0-3\""), "SIS_UTIL", Rung::Full, false).is_ok());
}

/// A candidate and the base have the seeds of the panel, so that the one that does nothing is identical to it.
#[test]
fn what_does_nothing_scores_nothing() {
    let found = of(PANEL, "NO_SIS_UTIL,NO_SIS_CORE", Rung::Full, false).expect("a score");
    assert_eq!((found.mean.pct, found.mean.ci95, found.mean.probability_better), (0.0, Some([0.0; 2]), Some(0.5)));
}

#[test]
fn a_clear_loser_is_given_up_after_the_fast_rung() {
    let worse = PANEL.replace("NO_SIS_UTIL", "SIS_UTIL");
    let found = of(&worse, "NO_SIS_UTIL", Rung::Full, false).expect("a score");
    assert_eq!((found.rung, found.gave_up, found.rows[0].row.base.n), (Rung::Fast, true, 2));
    assert!((-60.0..-40.0).contains(&found.mean.pct) && found.mean.probability_better.expect("repeats") < 0.001);
    // Not by a panel that gives nobody up.
    let found = of(&worse.replace("give_up_pct = 5", ""), "NO_SIS_UTIL", Rung::Full, false).expect("a score");
    assert_eq!((found.rung, found.gave_up), (Rung::Full, false));
    // Nor one that may have lost by chance: the interval of one repeat is unknown, and the mean is above the limit.
    let mild = worse.replace("give_up_pct = 5", "give_up_pct = 80").replace("repeats = 2", "repeats = 1");
    assert!(!of(&mild, "NO_SIS_UTIL", Rung::Full, false).expect("a score").gave_up);
    let fast = of(&worse, "NO_SIS_UTIL", Rung::Fast, false).expect("a score");
    assert_eq!((fast.rung, fast.gave_up), (Rung::Fast, false));
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let refused = |panel: &str, switches: &str, held_out: bool| match of(panel, switches, Rung::Full, held_out) {
        Ok(score) => panic!("{}", score.mean.pct),
        Err(error) => error.to_string(),
    };
    let unknown = refused(PANEL, "SIS_UTILS", false);
    assert!(unknown.starts_with("--with: ") && unknown.contains("SIS_UTIL"), "{unknown}");
    // Before anything runs, and with the machine or kernel that it is about.
    let machine = refused(&PANEL.replace("test-2c", "test-2x"), "SIS_UTIL", false);
    assert!(machine.starts_with("panel.toml:17: `part.machines`: "), "{machine}");
    let none = refused(&PANEL.replace("held_out = true", ""), "SIS_UTIL", true);
    assert!(none.contains("no part of the panel is held out"), "{none}");
    let no_weight = PANEL.replace("kernel = \"v6.12\"", "kernel = \"v6.12\"\nweight = 0").replace("weight = 3", "");
    let no_weight = refused(&no_weight, "SIS_UTIL", false);
    assert!(no_weight.contains("has a weight above 0"), "{no_weight}");
    // Held-out parts, too: a search that has ended is late to learn of it.
    let held_out = refused(&PANEL.replace("kernel = \"v7.2\"", "kernel = \"v7.5\""), "SIS_UTIL", false);
    assert!(held_out.starts_with("panel.toml:29: `part.kernel`: "), "{held_out}");
    let fails = Fake { fails_at: Some("4 threads"), ..Fake::default() };
    let candidate = Candidate { switches: "SIS_UTIL", last: Rung::Full, held_out: false };
    assert!(matches!(with(&fails, PANEL, candidate), Err(ScoreError::Run(_))));
    let stops = Fake { stops_at: Some("4 threads"), ..Fake::default() };
    assert!(matches!(with(&stops, PANEL, candidate), Err(ScoreError::Stopped)));
}

#[test]
fn what_is_wrong_in_a_panel_is_named() {
    let wrong = |from: &str, to: &str| parse(&PANEL.replacen(from, to, 1)).expect_err("a wrong panel");
    for (from, to, place) in [
        ("weight = 3", "weight = -1", "panel.toml:25: `part.weight`: expected a whole number from 0 to 1000"),
        ("weight = 3", "wieght = 3", "panel.toml:25: `part.wieght`: "),
        ("give_up_pct = 5", "give_up_pct = 100", "panel.toml:4: `give_up_pct`: "),
        ("time = \"1ms\"", "time = \"0ms\"", "panel.toml:7: `fast.time`: expected more than 0"),
        ("repeats = 2", "repeats = 0", "panel.toml:9: `fast.repeats`: "),
        ("kernel = \"v6.12\"", "", "panel.toml:16: `part.kernel`: the key is missing"),
        ("held_out = true", "held_out = 1", "panel.toml:31: `part.held_out`: "),
        ("seed = 7", "seed = nan", "panel.toml:3: `seed`: "),
    ] {
        let error = wrong(from, to);
        assert!(error.starts_with(place), "{to}: {error}");
    }
    let none = parse("base = \"\"").expect_err("no part");
    assert!(none.starts_with("panel.toml: `part`: the key is missing"), "{none}");
}

/// The panels that come with the program can be scored on all their parts.
#[test]
fn every_shipped_panel_resolves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/panels");
    let files: Vec<_> =
        std::fs::read_dir(folder).expect("the panels").map(|file| file.expect("a file").path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let panel = Panel::read(&file).expect("a panel");
        for rung in [&panel.fast, &panel.full] {
            for part in &panel.parts {
                part.spec("NO_SIS_UTIL", rung, panel.seed).resolve().expect("a part that can be simulated");
            }
        }
        assert!(panel.parts.iter().any(|part| part.held_out), "{}", file.display());
    }
}
