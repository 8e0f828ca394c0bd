//! Looks up the names of an experiment.

use super::pinned::pinned_cpus;
use super::side::{SchedulerText, SideText};
use super::spec::found_from;
use super::{Catalogue, Given, LookupError, LookupSubject, Shipped, Spec, SpecError, WorkloadSpec};
use crate::compare::{Case, Experiment, Published, Variant, VariantError};
use crate::runs::scheduler::load_scheduler;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use wakelab_kernel::{Preset, Setting, Switches, Tunables};
use wakelab_machine::Machine;
use wakelab_pm::governor::governor;
use wakelab_sched::energy::NoEas;
use wakelab_scx_fetch::SchedulerName;
use wakelab_sim::{FLIPS_GONE_NS, Mechanisms, Setup, SimError};

impl Spec {
    /// Returns the experiment with the machines and workloads that come with the program or are in files.
    ///
    /// # Errors
    /// Fails as [`Spec::resolve_from`] does.
    pub fn resolve(&self) -> Result<Experiment, SpecError> {
        self.resolve_from(&Shipped)
    }

    /// Returns the experiment with machines and workloads from `catalogue`.
    ///
    /// # Errors
    /// Fails if a name is unknown, the kernel or the machine cannot be simulated, a workload or load is wrong, switches
    /// do not fit the kernel or change nothing, a case is given twice, or a published table cannot be read.
    pub fn resolve_from(&self, catalogue: &dyn Catalogue) -> Result<Experiment, SpecError> {
        let machine = catalogue.machine(&self.found(&self.machine.value)).map_err(|e| told(&self.machine, &e))?;
        let kernel = Preset::get(&self.kernel.value).map_err(|e| self.kernel.error(e.to_string()))?;
        wakelab_sim::check(&machine, kernel).map_err(|e| self.not_simulated(&machine, &self.kernel, e))?;
        let pinned = self.pinned.as_ref().map(|pinned| {
            let cpus = pinned_cpus(&pinned.value, &machine.topology);
            let hint = "name CPUs (0-31) or NUMA nodes (node 0) of the machine";
            cpus.map_err(|what| pinned.error(what).with_hint(hint))
        });
        let pinned = pinned.transpose()?;
        // A share of the CPUs is one of those that the workload may use, as nproc counts them.
        let cpus = pinned.as_ref().map_or(machine.topology.nr_cpus(), |cpus| cpus.len() as u32);
        let mut warnings: Vec<String> = kernel.stands_for(&self.kernel.value).into_iter().collect();
        let mut cases: Vec<Case> = Vec::new();
        for workload in &self.workloads {
            let (more, let_pass) = self.cases(catalogue, workload, cpus, &machine)?;
            cases.extend(more);
            for warning in let_pass {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
        if let (Some(given), Some(cpus)) = (&self.pinned, &pinned) {
            for case in &mut cases {
                let pinned = Arc::make_mut(&mut case.workload).pin(cpus);
                pinned.map_err(|what| given.error(format!("{}: {what}", case.name)))?;
            }
        }
        self.no_case_twice(&cases)?;
        if let Some(until) = self.until.as_ref().filter(|until| until.value.most < self.repeats.value) {
            let what = format!("at most {} repeats, of at least {}", until.value.most, self.repeats.value);
            return Err(until.error(what).with_hint("the maximum must not be below the number of repeats at first"));
        }
        let mut published = Published::none();
        if let Some(file) = &self.results {
            published
                .read_results(&self.folder.join(&file.value))
                .map_err(|e| file.error(e.to_string()).with_hint(TABLES))?;
        }
        if let Some(file) = &self.search {
            published
                .read_search(&self.folder.join(&file.value))
                .map_err(|e| file.error(e.to_string()).with_hint(TABLES))?;
        }
        if let Some(folder) = &self.unpacked_to {
            published.leave_out(folder);
        }
        warnings.extend(published.misfits(cases.iter().map(|case| &*case.workload)));
        let base = self.side(&machine, kernel, &self.base, &mut warnings)?;
        let with = self.side(&machine, kernel, &self.with, &mut warnings)?;
        let sides = [(&base, &self.base), (&with, &self.with)];
        let sides = if self.base_only { &sides[..1] } else { &sides[..] };
        for (side, given) in sides {
            if let Some(pm) = side.pm {
                wakelab_sim::check_power(&machine, &side.kernel, pm).map_err(|e| given.error(e.to_string()))?;
            }
        }
        for (side, given) in sides {
            let Some(scheduler) = &side.scheduler else { continue };
            let workloads = cases.iter().map(|case| &*case.workload);
            let missing = wakelab_sim::cgroup_warn_missing(&machine, &side.kernel, &**scheduler, workloads);
            let missing = missing.map_err(|error| given.error(error.to_string()))?;
            warnings.extend(missing.into_iter().map(|line| format!("{}: {line}", given.place)));
        }
        sides.iter().try_for_each(|(side, _)| self.can_begin(&machine, side, &cases))?;
        if !machine.energy_model().is_empty() {
            for (side, given) in sides {
                let why = wakelab_sim::no_eas(&machine, &side.kernel, side.features, side.pm);
                match why.map_err(|error| given.error(error.to_string()))? {
                    None | Some(NoEas::EqualCpus) => {}
                    Some(why) => warnings.push(format!("{}: tasks are not placed by energy: {why}", given.place)),
                }
            }
        }
        if let Some(feature) = base.acts_without_flips().or_else(|| with.acts_without_flips())
            && self.settle_ns.value < FLIPS_GONE_NS
        {
            warnings.push(format!(
                "{}: {feature} acts only on tasks without wakee flips, and the flips of a task's first wake-ups stay \
                 for up to two seconds; expected 3s or more",
                self.settle_ns.place
            ));
        }
        let does = |side: &Variant| (side.kernel.name, side.features, side.kernel.tunables, side.pm);
        let same = does(&base) == does(&with)
            && base.kernel.task_clamps == with.kernel.task_clamps
            && base.scheduler_identity() == with.scheduler_identity();
        if !self.base_only && same {
            warnings.push(format!(
                "{}: features and tunables equal those of the base side, so both do the same and every difference \
                 is 0",
                self.with.place
            ));
        }
        Ok(Experiment {
            name: self.name.clone(),
            machine,
            kernel,
            workloads: self.workloads.iter().map(|w| format!("{} {}", w.name.value, w.load.value)).collect(),
            cases,
            base,
            with,
            base_only: self.base_only,
            repeats: self.repeats.value,
            until: self.until.as_ref().map(|until| until.value),
            seed: self.seed,
            settle_ns: self.settle_ns.value,
            time_ns: self.time_ns.value,
            observer_cost_ns: self.observer_cost_ns,
            pinned: self.pinned.as_ref().map(|pinned| pinned.value.clone()),
            regret: self.regret,
            mechanisms: Mechanisms::default(),
            published,
            warnings,
        })
    }

    /// Returns a side, on the kernel that it names itself or on `kernel`. Adds what the user should know of that name
    /// to `warnings`.
    fn side(
        &self,
        machine: &Machine,
        kernel: &'static Preset,
        given: &Given<String>,
        warnings: &mut Vec<String>,
    ) -> Result<Variant, SpecError> {
        let hint = |kernel: &Preset| format!("wakelab kernel show {} lists its features", kernel.name);
        let text = SideText::parse(&given.value).map_err(|what| {
            let governor = given.value.split(',').map(str::trim).find(|word| governor(word).is_ok());
            let schedulers = "`wakelab docs scheduler-authors` says how a side names a scheduler";
            let usual = || if what.starts_with("scx") { schedulers.to_owned() } else { hint(kernel) };
            let hint = governor.map_or_else(usual, |word| {
                format!("a side names its governor as governor={word}; `wakelab docs pm` lists such options")
            });
            given.error(what).with_hint(hint)
        })?;
        let own = text.kernel.as_ref().map(|name| {
            let own = Preset::get(name).map_err(|e| given.error(e.to_string()))?;
            wakelab_sim::check(machine, own).map_err(|e| self.not_simulated(machine, given, e))?;
            let note = own.stands_for(name).filter(|note| !warnings.contains(note));
            warnings.extend(note);
            Ok::<_, SpecError>(own)
        });
        let own = own.transpose()?;
        let kernel = own.unwrap_or(kernel);
        let mut side = Variant::on(machine, kernel, &text.switches).map_err(|e| {
            let hint = match e {
                VariantError::Power(_) => "`wakelab docs pm` lists a side's options for power management".to_owned(),
                _ => hint(kernel),
            };
            given.error(e.to_string()).with_hint(hint)
        })?;
        let new: Vec<String> = scaled(machine, kernel, &text.switches)
            .into_iter()
            .map(|note| format!("{}: {note}", given.place))
            .filter(|note| !warnings.contains(note))
            .collect();
        warnings.extend(new);
        if let Some(named) = &text.scheduler {
            let name = match &named.name {
                SchedulerName::Path(path) => SchedulerName::Path(self.folder.join(path).to_string_lossy().into_owned()),
                name => name.clone(),
            };
            let (scheduler, found) =
                load_scheduler(&self.schedulers, &name, &named.settings).map_err(|what| given.error(what))?;
            let (_, missing) =
                wakelab_sim::check_scheduler(machine, kernel, &scheduler).map_err(|e| given.error(e.to_string()))?;
            let new: Vec<String> = missing.into_iter().filter(|warning| !warnings.contains(warning)).collect();
            warnings.extend(new);
            side.scheduler = Some(Arc::new(scheduler));
            let separator = if side.label.is_empty() { "" } else { "," };
            // The version of a crate that is named without one is part of the result; where an experiment lies is not.
            let name = if found == name { named.name.clone() } else { found };
            let named = SchedulerText { name, settings: named.settings.clone() };
            side.label = format!("{named}{separator}{}", side.label);
        }
        if let Some(own) = own {
            let separator = if side.label.is_empty() { "" } else { "," };
            side.label = format!("kernel={}{separator}{}", own.name, side.label);
        }
        Ok(side)
    }

    /// Whether every run of a side can begin, so that what is refused is so before the first run of any side.
    fn can_begin(&self, machine: &Machine, side: &Variant, cases: &[Case]) -> Result<(), SpecError> {
        let Some(first) = cases.first() else { return Ok(()) };
        let setup = Setup {
            machine: side.machine.as_deref().unwrap_or(machine),
            kernel: &side.kernel,
            features: side.features,
            workload: &first.workload,
            seed: self.seed,
            until: 0,
            mechanisms: Mechanisms::default(),
            observer_cost: self.observer_cost_ns,
            pm: side.pm,
            scheduler: side.scheduler.as_deref(),
        };
        wakelab_sim::check_workloads(&setup, cases.iter().map(|case| &*case.workload)).map_err(|(at, error)| {
            let case = &cases[at];
            let named = self.workloads.iter().find(|workload| workload.name.value == case.name);
            let what = format!("{}: {error}", case.workload.load);
            named.map_or_else(|| self.machine.error(&what), |workload| workload.name.error(&what))
        })
    }

    /// Returns an error at the name that is wrong, that of the kernel being `kernel`, with the kernels that can be
    /// simulated on the machine as the hint.
    fn not_simulated(&self, machine: &Machine, kernel: &Given<String>, error: SimError) -> SpecError {
        let simulated = Preset::all().iter().filter(|kernel| wakelab_sim::check(machine, kernel).is_ok());
        let kernels: Vec<&str> = simulated.map(|kernel| kernel.name).collect();
        let hint = match kernels[..] {
            [] => "`wakelab machine list` shows machines that can be simulated".to_owned(),
            _ => format!("kernels that can be simulated on {}: {}", machine.name, kernels.join(", ")),
        };
        match error {
            SimError::Kernel(what) => kernel.error(what).with_hint(hint),
            SimError::Machine(what) => self.machine.error(what).with_hint(hint),
            error => self.machine.error(error.to_string()),
        }
    }

    /// Returns a name, or the path of a file relative to the experiment.
    fn found<'a>(&self, name: &'a str) -> Cow<'a, str> {
        found_from(&self.folder, name)
    }

    fn cases(
        &self,
        catalogue: &dyn Catalogue,
        workload: &WorkloadSpec,
        cpus: u32,
        machine: &Machine,
    ) -> Result<(Vec<Case>, Vec<String>), SpecError> {
        let WorkloadSpec { name, load, params } = workload;
        let mut numbers: Vec<(String, u64)> = params.iter().map(|(name, n)| (name.clone(), n.value)).collect();
        let fitted = machine.fitted_params(&name.value);
        numbers.extend(fitted.filter(|(name, _)| !params.iter().any(|(given, _)| given == name)));
        let found = self.found(&name.value);
        let made = if self.lenient {
            catalogue.lenient_workloads(&found, &load.value, &numbers, cpus)
        } else {
            catalogue.workloads(&found, &load.value, &numbers, cpus).map(|workloads| (workloads, Vec::new()))
        };
        let (made, warnings) = made.map_err(|wrong| match &wrong.about {
            LookupSubject::Name => told(name, &wrong),
            LookupSubject::Load => told(load, &wrong),
            LookupSubject::Param(param) => {
                let given = params.iter().find(|(name, _)| name == param);
                given.map_or_else(|| told(name, &wrong), |(_, given)| told(given, &wrong))
            }
        })?;
        Ok((made.into_iter().map(|workload| Case { name: name.value.clone(), workload }).collect(), warnings))
    }

    /// A row is identified by benchmark, case and load.
    fn no_case_twice(&self, cases: &[Case]) -> Result<(), SpecError> {
        let mut seen = BTreeSet::new();
        for case in cases {
            let workload = &case.workload;
            if !seen.insert((&workload.benchmark, &workload.case, &workload.load)) {
                let last = self.workloads.iter().rfind(|w| w.name.value == case.name).expect("it was made from one");
                let what = format!("{} at {} is given twice", case.name, workload.load);
                return Err(last.load.error(what).with_hint("give each load of a workload once"));
            }
        }
        Ok(())
    }
}

/// What a kernel makes of the tunables that a side sets before they are scaled by the number of CPUs.
fn scaled(machine: &Machine, kernel: &Preset, set: &Switches) -> Vec<String> {
    let cpus = machine.topology.nr_cpus();
    let factor = Tunables::factor(cpus as usize);
    let note = |Setting { name, value }: Setting| {
        let file = kernel.file_of_scaled(name).filter(|_| factor > 1)?;
        Some(format!(
            "{name}={value} is what the kernel scales by {factor} for {cpus} CPUs (1 + log2 of them, 8 at most): it \
             acts on {}, and {file} shows that",
            value * factor
        ))
    };
    set.settings().filter_map(note).collect()
}

/// The next step after an error about a published table.
const TABLES: &str =
    "`wakelab docs compare` says which columns a published table has; its path begins at the experiment's folder";

fn told<T>(given: &Given<T>, wrong: &LookupError) -> SpecError {
    let error = given.error(&wrong.what);
    match &wrong.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
