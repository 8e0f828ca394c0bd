//! `[[power]]`, `[[shared_power]]`, `[[energy_model]]`.

use super::value::{Points, UW, amount, need_amount, need_cpus, origin, range_pct};
use crate::{Amount, BusyPower, CorePower, FreqPolicy, PerfDomain, Power, Scope, SharedPower};
use wakelab_input::{InputError, Table};
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::Topology;

const CORE_KEYS: &[&str] = &[
    "cpus",
    "dynamic",
    "dynamic_range",
    "busy_uw",
    "busy_range_pct",
    "smt_pct",
    "smt_range",
    "leakage_uw",
    "leakage_range",
    "source",
    "assumed",
];

const SHARED_KEYS: &[&str] =
    &["of", "cpus", "awake_uw", "awake_range", "asleep_uw", "asleep_range", "source", "assumed"];

const POWER: Points = Points {
    what: "power",
    unit: "uW",
    hint: "a frequency that takes less power than a lower one makes the lower one useless: the kernel's energy model \
           refuses such tables",
    may_stay: false,
};

/// Reads all power data. `policies` are the machine's.
pub(super) fn read(root: &Table<'_>, topology: &Topology, policies: &[FreqPolicy]) -> Result<Power, InputError> {
    let nr_cpus = topology.nr_cpus();
    let mut power = Power::default();
    for table in root.tables("power", CORE_KEYS)? {
        let core = core(&table, topology, policies)?;
        once(&table, power.cores.iter().map(|core| &core.cpus), &core.cpus)?;
        power.cores.push(core);
    }
    for table in root.tables("shared_power", SHARED_KEYS)? {
        let shared = shared(&table, topology)?;
        let same = power.shared.iter().filter(|before| before.scope == shared.scope);
        once(&table, same.map(|before| &before.cpus), &shared.cpus)?;
        power.shared.push(shared);
    }
    for table in root.tables("energy_model", &["cpus", "opps", "source", "assumed"])? {
        let cpus = need_cpus(&table, nr_cpus)?;
        once(&table, power.energy_model.iter().map(|domain| &domain.cpus), &cpus)?;
        if !policies.iter().any(|policy| policy.cpus == cpus) {
            let error = table.error(format!(
                "CPUs {cpus} are not the CPUs of a policy of `[[frequency]]`; expected the CPUs of one policy"
            ));
            return Err(error.with_hint("a performance domain is the CPUs of a cpufreq policy"));
        }
        let states = POWER.read(&table, "opps")?;
        let states = states.ok_or_else(|| table.missing("opps", "a list of [kHz, uW]"))?;
        power.energy_model.push(PerfDomain { cpus, states, origin: origin(&table)? });
    }
    power.cores.sort_by_key(|core| core.cpus.first());
    power.shared.sort_by_key(|shared| (shared.scope, shared.cpus.first()));
    power.energy_model.sort_by_key(|domain| domain.cpus.first());
    Ok(power)
}

fn core(table: &Table<'_>, topology: &Topology, policies: &[FreqPolicy]) -> Result<CorePower, InputError> {
    let cpus = need_cpus(table, topology.nr_cpus())?;
    whole(table, topology, &cpus, "core", |cpu| Some(topology.cpus[cpu].core))?;
    let busy = match (amount(table, "dynamic", "dynamic_range", &UW)?, POWER.read(table, "busy_uw")?) {
        (Some(dynamic), None) => BusyPower::Coefficient(dynamic),
        (None, Some(points)) => {
            let range_pct = range_pct(table, "busy_range_pct")?;
            BusyPower::Table { points, range_pct }
        }
        _ => {
            let error = table.error("expected either `dynamic` or `busy_uw`");
            return Err(error.with_hint("`dynamic` is uW for each MHz and V², `busy_uw` a list of [kHz, uW]"));
        }
    };
    let voltage = |cpu| policies.iter().any(|policy| policy.cpus.test(cpu) && !policy.voltages.is_empty());
    if let (BusyPower::Coefficient(_), Some(cpu)) = (&busy, cpus.iter().find(|&cpu| !voltage(cpu))) {
        let error = table.error(format!("`dynamic` needs the voltage, and CPU {cpu} has none"));
        return Err(error.with_hint("give `opps` or `voltages` in `[[frequency]]`, or use `busy_uw` instead"));
    }
    let none = |value| Amount { value, low: value, high: value };
    let smt_pct = amount(table, "smt_pct", "smt_range", &(100..=400))?.unwrap_or(none(100));
    let leakage_uw = amount(table, "leakage_uw", "leakage_range", &UW)?.unwrap_or(none(0));
    Ok(CorePower { cpus, busy, smt_pct, leakage_uw, origin: origin(table)? })
}

fn shared(table: &Table<'_>, topology: &Topology) -> Result<SharedPower, InputError> {
    let scope = table.need_choice("of", &[("cluster", Scope::Cluster), ("package", Scope::Package)])?;
    let nr_cpus = topology.nr_cpus();
    let cpus = match table.get("cpus") {
        Some(_) => need_cpus(table, nr_cpus)?,
        None => CpuMask::from_cpus(nr_cpus, 0..nr_cpus),
    };
    let id = |cpu: usize| match scope {
        Scope::Cluster => topology.cpus[cpu].cluster,
        Scope::Package => Some(topology.cpus[cpu].package),
    };
    if let Some(cpu) = cpus.iter().find(|&cpu| id(cpu as usize).is_none()) {
        return Err(table.error(format!("CPU {cpu} is in no cluster; expected only CPUs that are")));
    }
    whole(table, topology, &cpus, if scope == Scope::Cluster { "cluster" } else { "package" }, id)?;
    let awake_uw = need_amount(table, "awake_uw", "awake_range", &UW)?;
    let asleep_uw = need_amount(table, "asleep_uw", "asleep_range", &UW)?;
    if asleep_uw.value > awake_uw.value {
        let what = format!("asleep_uw = {}; expected at most awake_uw, {}", asleep_uw.value, awake_uw.value);
        return Err(table.error(what));
    }
    Ok(SharedPower { scope, cpus, awake_uw, asleep_uw, origin: origin(table)? })
}

/// Refuses CPUs of which the file has an entry already.
fn once<'a>(
    table: &Table<'_>,
    mut before: impl Iterator<Item = &'a CpuMask>,
    cpus: &CpuMask,
) -> Result<(), InputError> {
    match before.any(|before| before.intersects(cpus)) {
        true => Err(table.error("some of these CPUs already have an entry; expected each CPU once")),
        false => Ok(()),
    }
}

/// Refuses CPUs that are only a part of a core, cluster or package.
fn whole(
    table: &Table<'_>,
    topology: &Topology,
    cpus: &CpuMask,
    what: &str,
    id: impl Fn(usize) -> Option<u32>,
) -> Result<(), InputError> {
    let ids: std::collections::BTreeSet<_> = cpus.iter().map(|cpu| id(cpu as usize)).collect();
    let left_out = (0..topology.nr_cpus()).find(|&cpu| !cpus.test(cpu) && ids.contains(&id(cpu as usize)));
    match left_out {
        Some(cpu) => {
            Err(table
                .error(format!("the CPUs are only a part of a {what}; expected CPU {cpu} too, which belongs to it")))
        }
        None => Ok(()),
    }
}
