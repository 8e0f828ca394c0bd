//! What the published tables say of predictions like one at hand: of how many effects the simulation had them, and of
//! how many that it had they were real, by benchmark and kind of machine.

use super::Scoreboard;
use crate::compare::Class;
use crate::compare::Comparison;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use wakelab_machine::Machine;
use wakelab_statistics::Better;

/// Machines that behave alike: small LLCs fall into the stacked state and stay, large ones have idle CPUs left, and
/// unequal CPUs are placed on by energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineKind {
    /// LLCs of up to [`SMALL_LLC`] CPUs.
    SmallLlcs,
    /// Larger LLCs.
    LargeLlcs,
    /// CPUs of different capacity.
    UnequalCpus,
}

/// The CPUs of a small LLC, at most: a Zen core complex with SMT has 16.
pub const SMALL_LLC: u32 = 16;

impl MachineKind {
    /// The kind of a machine.
    pub fn of(machine: &Machine) -> Self {
        let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
        machine.topology.cpus.iter().for_each(|cpu| *sizes.entry(cpu.llc).or_default() += 1);
        match sizes.values().max() {
            _ if !machine.all_of_full_capacity() => MachineKind::UnequalCpus,
            Some(&size) if size > SMALL_LLC => MachineKind::LargeLlcs,
            _ => MachineKind::SmallLlcs,
        }
    }
}

impl fmt::Display for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MachineKind::SmallLlcs => "LLCs of up to 16 CPUs",
            MachineKind::LargeLlcs => "LLCs of more than 16 CPUs",
            MachineKind::UnequalCpus => "CPUs of different capacity",
        })
    }
}

/// A published difference with its simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The table.
    pub table: String,
    /// The machine.
    pub machine: String,
    /// Its kind.
    pub kind: MachineKind,
    /// The workload: `netperf:TCP_RR`.
    pub workload: String,
    /// The number of instances.
    pub load: u64,
    /// The direction in which the published quantity is better.
    pub published_better: Better,
    /// That of the simulated one.
    pub simulated_better: Better,
    /// The published difference in %; positive is better.
    pub published_pct: f64,
    /// The simulated difference, %.
    pub simulated_pct: f64,
    /// The noise limit, %: a larger difference is an effect.
    pub noise_pct: f64,
}

/// The rows of a scoreboard that are differences of a benchmark.
pub fn ledger(board: &Scoreboard) -> Vec<LedgerRow> {
    let of_table = board.tables.iter().flat_map(|table| table.rows.iter().map(|row| (table.name.clone(), row)));
    let mut machines: BTreeMap<String, Option<(String, MachineKind)>> = BTreeMap::new();
    let mut workloads: BTreeMap<String, String> = BTreeMap::new();
    let row = |(table, row): (String, &super::Scored)| {
        let (recipe, load) = row.simulated.as_ref()?;
        let of_machine =
            || wakelab_machine::get(&recipe.machine).ok().map(|it| (it.name.clone(), MachineKind::of(&it)));
        let (machine, kind) = machines.entry(recipe.machine.clone()).or_insert_with(of_machine).clone()?;
        let workload = workloads.entry(recipe.workload.clone()).or_insert_with(|| in_ledger(&recipe.workload));
        Some(LedgerRow {
            table,
            machine,
            kind,
            workload: workload.clone(),
            load: *load,
            published_better: row.better?[0],
            simulated_better: row.better?[1],
            published_pct: row.published_compare_pct?,
            simulated_pct: row.simulated_compare_pct?,
            noise_pct: row.noise_pct,
        })
    };
    of_table.filter_map(row).collect()
}

/// What a workload is called in the ledger: a file by the benchmark and case in it, as comparisons of it are, wherever
/// it lies.
fn in_ledger(workload: &str) -> String {
    if wakelab_workload::names().iter().any(|name| name == workload) {
        return workload.to_owned();
    }
    let described = wakelab_workload::describe(workload).map(|it| it.workload);
    described.map_or_else(|_| workload.to_owned(), |it| format!("{}:{}", it.benchmark, it.case))
}

/// The ledger of a benchmark on a kind of machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    /// The benchmark: `netperf`.
    pub benchmark: String,
    /// The kind of the machines.
    pub kind: MachineKind,
    /// The published effects.
    pub effects: usize,
    /// Those of them that the simulation has with the same sign.
    pub right: usize,
    /// The simulated effects, right or not.
    pub predicted: usize,
    /// The rows without a published effect.
    pub null_rows: usize,
    /// Those of them where the simulation has one.
    pub false_effects: usize,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Known { benchmark, kind, effects, right, null_rows, false_effects, .. } = self;
        write!(f, "{benchmark}, {kind}: ")?;
        match effects {
            0 => write!(f, "no effect is published")?,
            _ => write!(f, "{right} of {effects} published effects right")?,
        }
        match null_rows {
            0 => Ok(()),
            _ => write!(f, ", false effects in {false_effects} of {null_rows} other rows"),
        }
    }
}

/// The ledger by benchmark and kind of machine, in their order.
pub fn by_benchmark(rows: &[LedgerRow]) -> Vec<Known> {
    let mut found: BTreeMap<(&str, MachineKind), Known> = BTreeMap::new();
    for row in rows {
        let benchmark = row.workload.split(':').next().unwrap_or_default();
        let known = found.entry((benchmark, row.kind)).or_insert_with(|| Known {
            benchmark: benchmark.to_owned(),
            kind: row.kind,
            effects: 0,
            right: 0,
            predicted: 0,
            null_rows: 0,
            false_effects: 0,
        });
        let [published, simulated] = [row.published_pct, row.simulated_pct].map(|pct| Class::of(pct, row.noise_pct));
        let (is, said) = (published != Class::Same, simulated != Class::Same);
        known.effects += usize::from(is);
        known.right += usize::from(is && published == simulated);
        known.predicted += usize::from(said);
        known.null_rows += usize::from(!is);
        known.false_effects += usize::from(!is && said);
    }
    found.into_values().collect()
}

/// The rows that come with the program: what `wakelab reproduce --repeat 1 --format csv` printed for docs/evidence.md.
const LEDGER: &str = include_str!("ledger.csv");

/// The ledger of each benchmark of a comparison on machines like its own, in the order of its rows. A benchmark of
/// which no published difference is on such a machine is left out. All of the ledger is of the fair class: of a
/// scheduler of sched_ext, and of one beside the fair class, it says nothing.
pub fn known(comparison: &Comparison) -> Vec<Known> {
    if !comparison.schedulers.is_empty() {
        return Vec::new();
    }
    let (kind, all) = (MachineKind::of(&comparison.machine), by_benchmark(&shipped()));
    let mut found: Vec<Known> = Vec::new();
    for row in &comparison.rows {
        let of = all.iter().find(|known| (&known.benchmark, known.kind) == (&row.benchmark, kind));
        found.extend(of.filter(|of| !found.contains(of)).cloned());
    }
    found
}

/// The rows that come with the program.
pub fn shipped() -> Vec<LedgerRow> {
    let rows = csv::Reader::from_reader(LEDGER.as_bytes()).into_deserialize().collect::<Result<_, _>>();
    rows.expect("ledger.csv was written by this program")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(workload: &str, published_pct: f64, simulated_pct: f64) -> LedgerRow {
        LedgerRow {
            table: "t".to_owned(),
            machine: "test-8c".to_owned(),
            kind: MachineKind::SmallLlcs,
            workload: workload.to_owned(),
            load: 1,
            published_better: Better::Higher,
            simulated_better: Better::Higher,
            published_pct,
            simulated_pct,
            noise_pct: 5.0,
        }
    }

    #[test]
    fn real_and_predicted_effects_are_counted_by_benchmark_and_kind() {
        let rows = [
            row("netperf:TCP_RR", 60.0, 20.0),
            row("netperf:UDP_RR", 60.0, -20.0),
            row("netperf:UDP_RR", 1.0, 20.0),
            row("netperf:UDP_RR", 1.0, 2.0),
            row("tbench:loopback", 60.0, 1.0),
            LedgerRow { kind: MachineKind::LargeLlcs, ..row("tbench:loopback", 8.0, 9.0) },
        ];
        let known = by_benchmark(&rows);
        assert_eq!(known.len(), 3);
        let netperf = &known[0];
        assert_eq!((netperf.effects, netperf.right, netperf.predicted), (2, 1, 3));
        assert_eq!((netperf.null_rows, netperf.false_effects), (2, 1));
        assert_eq!((known[1].right, known[2].right, known[2].effects), (0, 1, 1));
        let [netperf, small, large] = [0, 1, 2].map(|at| known[at].to_string());
        assert_eq!(
            netperf,
            "netperf, LLCs of up to 16 CPUs: 1 of 2 published effects right, false effects in 1 of 2 other rows"
        );
        assert!(small.ends_with(": 0 of 1 published effects right"), "{small}");
        assert!(large.contains("more than 16 CPUs: 1 of 1"), "{large}");
    }

    #[test]
    fn kinds_of_machines_go_by_the_size_of_their_llcs() {
        let kind = |name: &str| MachineKind::of(&wakelab_machine::get(name).unwrap());
        assert_eq!(kind("amd-zen3-2s128c256t-nps1"), MachineKind::SmallLlcs);
        assert_eq!(kind("intel-1s56c112t"), MachineKind::LargeLlcs);
        assert_eq!(kind("pixel6"), MachineKind::UnequalCpus);
    }

    #[test]
    fn the_shipped_ledger_has_the_published_flip() {
        let rows = shipped();
        let flip = |row: &&LedgerRow| row.machine == "intel-1s56c112t" && row.workload == "netperf:TCP_RR";
        assert!(rows.iter().filter(flip).any(|row| row.published_pct > 190.0 && row.simulated_pct > 150.0));
    }
}
