//! A side as the page describes it, and the same with every name looked up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wakelab_input::{DURATION_MAX_NS, parse_duration};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sched::energy::NoEas;
use wakelab_sim::{FLIPS_GONE_NS, Mechanisms, PmSide, Setup, SimError, Variant, run_seed};
use wakelab_workload::{Load, TIME, Workload};

/// A side of a comparison as the page describes it: what `wakelab compare` takes as flags.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name of a machine.
    pub machine: String,
    /// The name of a kernel.
    pub kernel: String,
    /// The name of a workload: `netperf:TCP_RR`.
    pub workload: String,
    /// One load: `224`, `200%` or `50/s`. Empty for that of a workload that has one of its own.
    pub load: String,
    /// The switches: `SIS_UTIL,sis_util_pct=130`; may be empty.
    pub side: String,
    /// The seed of the experiment, below 2^53.
    pub seed: u64,
    /// The simulated time before measuring begins: `150ms`.
    pub settle: String,
    /// The measured time: `120ms`.
    pub time: String,
}

/// An error in a description, or in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The field of the description that is wrong; `run` if it is none of them.
    pub field: &'static str,
    /// The problem, and what was expected.
    pub what: String,
    /// The next step.
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(field: &'static str, what: impl Into<String>) -> Self {
        Problem { field, what: what.into(), hint: None }
    }

    fn with_hint(self, hint: impl Into<Option<String>>) -> Self {
        Problem { hint: hint.into(), ..self }
    }
}

impl From<SimError> for Problem {
    fn from(error: SimError) -> Self {
        let field = match error {
            SimError::Kernel(_) => "kernel",
            SimError::Machine(_) => "machine",
            SimError::Workload(_) => "workload",
            _ => "run",
        };
        Problem::new(field, error.to_string())
    }
}

/// A side with every name looked up.
#[derive(Clone, Debug)]
pub struct Side {
    /// The machine.
    pub machine: Machine,
    /// The features, the kernel with its tunables, and the governors.
    pub variant: Variant,
    /// The workload at its load.
    pub workload: Workload,
    /// The seed of the run, as the first repeat of a comparison has it.
    pub seed: u64,
    /// When measuring begins, ns from the start.
    pub settle_ns: u64,
    /// When the run ends, ns from the start.
    pub until_ns: u64,
    /// The warnings that `wakelab compare` would print.
    pub warnings: Vec<String>,
}

impl Side {
    /// Looks the names of a description up.
    ///
    /// # Errors
    /// The field that is wrong, with what was expected, in the words of the program.
    pub fn new(description: &Description) -> Result<Self, Problem> {
        let machine = machine(&description.machine)?;
        let kernel = Preset::get(&description.kernel).map_err(|e| Problem::new("kernel", e.to_string()))?;
        wakelab_sim::check(&machine, kernel).map_err(|e| not_simulated(&machine, e))?;
        let workload = workload(description, &machine)?;
        let variant = variant(&machine, kernel, &description.side)?;
        let (settle_ns, time_ns) = times(description)?;
        let mut warnings: Vec<String> = kernel.stands_for(&description.kernel).into_iter().collect();
        warnings.extend(not_by_energy(&machine, &variant)?);
        if let Some(feature) = variant.acts_without_flips().filter(|_| settle_ns < FLIPS_GONE_NS) {
            warnings.push(format!(
                "settle: {feature} acts only on tasks without wakee flips, and the flips of a task's first wake-ups \
                 stay for up to two seconds; expected 3s or more"
            ));
        }
        // A time is that of the whole run, however long it takes.
        let (settle_ns, until_ns) = match workload.metric.as_str() {
            TIME => (0, DURATION_MAX_NS),
            _ => (settle_ns, settle_ns + time_ns),
        };
        let seed = run_seed(description.seed, &workload.load, 0);
        Ok(Side { machine, variant, workload, seed, settle_ns, until_ns, warnings })
    }

    /// The setup of the run.
    pub fn setup(&self) -> Setup<'_> {
        Setup {
            machine: &self.machine,
            kernel: &self.variant.kernel,
            features: self.variant.features,
            workload: &self.workload,
            seed: self.seed,
            until: self.until_ns,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: self.variant.pm.map(|side| PmSide { measured_from: self.settle_ns, ..side }),
            scheduler: None,
        }
    }
}

fn machine(name: &str) -> Result<Machine, Problem> {
    if name.contains('/') || name.ends_with(".toml") {
        let what = format!("{name}: a browser reads no files; expected a machine that the program has");
        return Err(Problem::new("machine", what).with_hint("`wakelab compare` takes the file".to_owned()));
    }
    wakelab_machine::get(name).map_err(|mut error| {
        let hint = error.hint.take();
        Problem::new("machine", error.to_string()).with_hint(hint)
    })
}

/// An error about a machine under a kernel, with the kernels that can be simulated on the machine as the hint.
fn not_simulated(machine: &Machine, error: SimError) -> Problem {
    let simulated = Preset::all().iter().filter(|kernel| wakelab_sim::check(machine, kernel).is_ok());
    let kernels: Vec<&str> = simulated.map(|kernel| kernel.name).collect();
    let hint = match kernels[..] {
        [] => "`wakelab machine list` shows machines that can be simulated".to_owned(),
        _ => format!("kernels that can be simulated on {}: {}", machine.name, kernels.join(", ")),
    };
    Problem { hint: Some(hint), ..error.into() }
}

fn workload(description: &Description, machine: &Machine) -> Result<Workload, Problem> {
    let Description { workload: name, load, .. } = description;
    if name.ends_with(".toml") || name.ends_with(".json") {
        let what = format!("{name}: a browser reads no files; expected a benchmark that the program has");
        return Err(Problem::new("workload", what).with_hint("`wakelab compare` takes the file".to_owned()));
    }
    let wrong = |mut error: wakelab_workload::WorkloadError| {
        let field = if error.about == wakelab_workload::About::Load { "load" } else { "workload" };
        let hint = error.hint.take();
        Problem::new(field, error.to_string()).with_hint(hint)
    };
    // An unknown name is reported before a wrong load.
    wakelab_workload::describe(name).map_err(wrong)?;
    let own = || wakelab_workload::default_load(name).map(|load| load.to_string());
    let text = if load.trim().is_empty() { own().unwrap_or_default() } else { load.clone() };
    let loads = Load::parse_list(&text).map_err(|e| Problem::new("load", e.what).with_hint(e.example))?;
    let [load] = loads[..] else {
        let what = format!("{text:?} is {} loads; expected one of them", loads.len());
        return Err(Problem::new("load", what).with_hint("`wakelab compare` takes several".to_owned()));
    };
    let params: BTreeMap<String, u64> = machine.fitted_params(name).collect();
    wakelab_workload::build(name, load, machine.topology.nr_cpus(), &params).map_err(wrong)
}

fn variant(machine: &Machine, kernel: &'static Preset, text: &str) -> Result<Variant, Problem> {
    let hint = format!("wakelab kernel show {} lists its features", kernel.name);
    let switches: Switches = text.parse().map_err(|e| Problem::new("side", format!("{e}")).with_hint(hint.clone()))?;
    let variant =
        Variant::on(machine, kernel, &switches).map_err(|e| Problem::new("side", e.to_string()).with_hint(hint))?;
    if let Some(pm) = variant.pm {
        wakelab_sim::check_power(machine, kernel, pm).map_err(|e| Problem::new("side", e.to_string()))?;
    }
    Ok(variant)
}

/// The time before measuring and the measured time, ns.
fn times(description: &Description) -> Result<(u64, u64), Problem> {
    let read = |field, text: &str| parse_duration(text).map_err(|what| Problem::new(field, what));
    let (settle, time) = (read("settle", &description.settle)?, read("time", &description.time)?);
    if time == 0 {
        return Err(Problem::new("time", "expected more than 0, such as 1s"));
    }
    Ok((settle, time))
}

/// Why tasks of a machine with an energy model are not placed by energy, if they are not.
fn not_by_energy(machine: &Machine, side: &Variant) -> Result<Option<String>, Problem> {
    if machine.energy_model().is_empty() {
        return Ok(None);
    }
    match wakelab_sim::no_eas(machine, &side.kernel, side.features, side.pm) {
        Ok(None | Some(NoEas::EqualCpus)) => Ok(None),
        Ok(Some(why)) => Ok(Some(format!("tasks are not placed by energy: {why}"))),
        Err(error) => Err(Problem::new("side", error.to_string())),
    }
}
