//! Looks up the names of an experiment.

use super::pinned::pinned_cpus;
use super::side::SchedulerText;
use super::spec::found_from;
use super::{
    Catalogue, Given, LookupError, LookupSubject, NamedSide, Place, Remembering, Shipped, Spec, SpecError, WorkloadSpec,
};
use crate::compare::{Block, Case, Matrix, Published, Variant, VariantError};
use crate::runs::scheduler::load_scheduler;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use wakelab_input::printable;
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
    pub fn resolve(&self) -> Result<Matrix, SpecError> {
        self.resolve_from(&Shipped)
    }

    /// Returns the two sides, or the base alone, with what comes with the program or is in files.
    ///
    /// # Errors
    /// Fails as [`Spec::resolve_from`] does, or if there are more sides.
    pub fn resolve_two_sides(&self) -> Result<Block, SpecError> {
        self.two_sides_from(&Shipped)
    }

    /// Returns the same with machines and workloads from `catalogue`.
    ///
    /// # Errors
    /// Fails as [`Spec::resolve_two_sides`] does.
    pub fn two_sides_from(&self, catalogue: &dyn Catalogue) -> Result<Block, SpecError> {
        self.only_two_sides()?;
        Ok(self.resolve_from(catalogue)?.blocks.remove(0))
    }

    /// Returns the experiment with machines and workloads from `catalogue`: a block for each machine and kernel.
    ///
    /// # Errors
    /// Fails if a name is unknown, a kernel or a machine cannot be simulated or comes twice, a workload or load is
    /// wrong, switches do not fit the kernel or change nothing, a case is given twice, or a published table cannot be
    /// read or is there though it is of two sides and there are more.
    pub fn resolve_from(&self, catalogue: &dyn Catalogue) -> Result<Matrix, SpecError> {
        let published = self.results.as_ref().or(self.search.as_ref());
        if let Some(table) = published.filter(|_| !self.has_two_sides()) {
            let what = "a published table compares two sides, and there are more here";
            return Err(table
                .error(what)
                .with_hint("leave [published] out, or compare one machine, kernel and variant"));
        }
        let catalogue = Remembering::new(catalogue);
        let (mut blocks, mut warnings): (Vec<Block>, Vec<String>) = Default::default();
        for given in &self.machines {
            let machine = catalogue.machine(&self.found(&given.value));
            let machine = machine.map_err(|error| self.located(told(given, &error), given))?;
            for kernel in &self.kernels {
                let cell = Cell { spec: self, given, machine: &machine, kernel };
                let block = cell.block(&catalogue)?;
                if blocks.iter().any(|other| other.place() == block.place()) {
                    return Err(self.twice(given, kernel, &block));
                }
                add_new(&mut warnings, block.warnings.iter().cloned());
                blocks.push(block);
            }
        }
        let variants = self.variants.iter().map(|variant| variant.name.clone()).collect();
        Ok(Matrix { base: self.base.name.clone(), variants, blocks, warnings })
    }

    /// An error with the machine that it is about, if its place does not tell which.
    fn located(&self, mut error: SpecError, machine: &Given<String>) -> SpecError {
        let told = match error.place {
            Place::Flag("--machine") => error.what.contains(&machine.value),
            _ => error.place == machine.place,
        };
        if self.machines.len() > 1 && !told {
            error.what = format!("{} (on machine {})", error.what, printable(&machine.value));
        }
        error
    }

    /// The error that a machine or a kernel is there twice.
    fn twice(&self, machine: &Given<String>, kernel: &Given<String>, block: &Block) -> SpecError {
        let name = block.kernel.name;
        let same = |other: &&Given<String>| Preset::get(&other.value).is_ok_and(|preset| preset.name == name);
        if self.kernels.iter().filter(same).count() > 1 {
            return kernel.error(format!("kernel {name} is given twice")).with_hint("give each kernel once");
        }
        let what = format!("machine {} is given twice", block.machine.name);
        machine.error(what).with_hint("give each machine once; two files need a `name` of their own")
    }

    /// Returns a name, or the path of a file relative to the experiment.
    fn found<'a>(&self, name: &'a str) -> Cow<'a, str> {
        found_from(&self.folder, name)
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

    /// The published tables.
    fn published(&self) -> Result<Published, SpecError> {
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
        Ok(published)
    }
}

/// A machine and a kernel of an experiment.
#[derive(Clone, Copy)]
struct Cell<'a> {
    spec: &'a Spec,
    /// The name of the machine.
    given: &'a Given<String>,
    machine: &'a Machine,
    kernel: &'a Given<String>,
}

impl Cell<'_> {
    /// Returns the block: what all sides share, the base, and the variants.
    fn block(&self, catalogue: &dyn Catalogue) -> Result<Block, SpecError> {
        let spec = self.spec;
        let on_machine = |error| spec.located(error, self.given);
        let mut block = self.without_variants(catalogue).map_err(on_machine)?;
        if spec.variants.is_empty() {
            self.check(&mut block, 0..1).map_err(on_machine)?;
        }
        // What the base cannot do is told with the first variant, after what is written wrong there.
        let mut checked = 0;
        for side in &spec.variants {
            self.add(&mut block, side, checked).map_err(|error| self.of_variant(error, side))?;
            checked = block.sides();
        }
        Ok(block)
    }

    /// An error with the variant, the machine and the kernel that it is about, if its place does not tell which.
    fn of_variant(&self, mut error: SpecError, side: &NamedSide) -> SpecError {
        let (spec, given) = (self.spec, side.given());
        if spec.variants.len() > 1 && error.place == Place::Flag("--with") && side.name != given.value {
            error.what = format!("{}: {}", side.name, error.what);
        }
        let mut error = spec.located(error, self.given);
        if spec.kernels.len() > 1 && error.place != self.kernel.place && error.place == given.place {
            error.what = format!("{} (with kernel {})", error.what, printable(&self.kernel.value));
        }
        error
    }

    /// Returns the block with the base alone, which has not been checked.
    fn without_variants(&self, catalogue: &dyn Catalogue) -> Result<Block, SpecError> {
        let &Cell { spec, machine, kernel: given, .. } = self;
        let kernel = Preset::get(&given.value).map_err(|e| given.error(e.to_string()))?;
        wakelab_sim::check(machine, kernel).map_err(|e| self.not_simulated(given, e))?;
        let pinned = spec.pinned.as_ref().map(|pinned| {
            let cpus = pinned_cpus(&pinned.value, &machine.topology);
            let hint = "name CPUs (0-31) or NUMA nodes (node 0) of the machine";
            cpus.map_err(|what| pinned.error(what).with_hint(hint))
        });
        let pinned = pinned.transpose()?;
        // A share of the CPUs is one of those that the workload may use, as nproc counts them.
        let cpus = pinned.as_ref().map_or(machine.topology.nr_cpus(), |cpus| cpus.len() as u32);
        let mut warnings: Vec<String> = kernel.stands_for(&given.value).into_iter().collect();
        let mut cases: Vec<Case> = Vec::new();
        for workload in &spec.workloads {
            let (more, let_pass) = self.cases(catalogue, workload, cpus)?;
            cases.extend(more);
            add_new(&mut warnings, let_pass);
        }
        if let (Some(given), Some(cpus)) = (&spec.pinned, &pinned) {
            for case in &mut cases {
                let pinned = Arc::make_mut(&mut case.workload).pin(cpus);
                pinned.map_err(|what| given.error(format!("{}: {what}", case.name)))?;
            }
        }
        spec.no_case_twice(&cases)?;
        if let Some(until) = spec.until.as_ref().filter(|until| until.value.most < spec.repeats.value) {
            let what = format!("at most {} repeats, of at least {}", until.value.most, spec.repeats.value);
            return Err(until.error(what).with_hint("the maximum must not be below the number of repeats at first"));
        }
        let published = spec.published()?;
        warnings.extend(published.misfits(cases.iter().map(|case| &*case.workload)));
        let base = self.side(kernel, &spec.base, &mut warnings)?;
        Ok(Block {
            name: spec.name.clone(),
            machine: machine.clone(),
            kernel,
            workloads: spec.workloads.iter().map(|w| format!("{} {}", w.name.value, w.load.value)).collect(),
            cases,
            base,
            variants: Vec::new(),
            repeats: spec.repeats.value,
            until: spec.until.as_ref().map(|until| until.value),
            seed: spec.seed,
            settle_ns: spec.settle_ns.value,
            time_ns: spec.time_ns.value,
            observer_cost_ns: spec.observer_cost_ns,
            pinned: spec.pinned.as_ref().map(|pinned| pinned.value.clone()),
            regret: spec.regret,
            mechanisms: Mechanisms::default(),
            published,
            warnings,
        })
    }

    /// Adds a variant to a block, and checks the sides that have not been `checked`.
    fn add(&self, block: &mut Block, side: &NamedSide, checked: usize) -> Result<(), SpecError> {
        let with = self.side(block.kernel, side, &mut block.warnings)?;
        block.variants.push(with);
        self.check(block, checked..block.sides())?;
        let (base, with) = (&block.base, block.side(block.sides() - 1));
        let does = |side: &Variant| (side.kernel.name, side.features, side.kernel.tunables, side.pm);
        let same = does(base) == does(with)
            && base.kernel.task_clamps == with.kernel.task_clamps
            && base.scheduler_identity() == with.scheduler_identity();
        if same {
            let what =
                "features and tunables equal those of the base side, so both do the same and every difference is 0";
            add_new(&mut block.warnings, [format!("{}: {what}", side.given().place)]);
        }
        Ok(())
    }

    /// Whether every run of these sides of a block can begin, so that what is refused is so before the first run of
    /// any. Adds to its warnings what they lack.
    fn check(&self, block: &mut Block, sides: Range<usize>) -> Result<(), SpecError> {
        let &Cell { spec, machine, .. } = self;
        let mut new = Vec::new();
        let given = |at: usize| if at == 0 { spec.base.given() } else { spec.variants[at - 1].given() };
        let sides = || sides.clone().map(|at| (block.side(at), given(at)));
        for (side, given) in sides() {
            if let Some(pm) = side.pm {
                wakelab_sim::check_power(machine, &side.kernel, pm).map_err(|e| given.error(e.to_string()))?;
            }
        }
        for (side, given) in sides() {
            let Some(scheduler) = &side.scheduler else { continue };
            let workloads = block.cases.iter().map(|case| &*case.workload);
            let missing = wakelab_sim::cgroup_warn_missing(machine, &side.kernel, &**scheduler, workloads);
            let missing = missing.map_err(|error| given.error(error.to_string()))?;
            new.extend(missing.into_iter().map(|line| format!("{}: {line}", given.place)));
        }
        sides().try_for_each(|(side, _)| self.can_begin(side, &block.cases))?;
        if !machine.energy_model().is_empty() {
            for (side, given) in sides() {
                let why = wakelab_sim::no_eas(machine, &side.kernel, side.features, side.pm);
                match why.map_err(|error| given.error(error.to_string()))? {
                    None | Some(NoEas::EqualCpus) => {}
                    Some(why) => new.push(format!("{}: tasks are not placed by energy: {why}", given.place)),
                }
            }
        }
        let acts = [&block.base].into_iter().chain(sides().map(|(side, _)| side)).find_map(Variant::acts_without_flips);
        if let Some(feature) = acts.filter(|_| spec.settle_ns.value < FLIPS_GONE_NS) {
            new.push(format!(
                "{}: {feature} acts only on tasks without wakee flips, and the flips of a task's first wake-ups stay \
                 for up to two seconds; expected 3s or more",
                spec.settle_ns.place
            ));
        }
        add_new(&mut block.warnings, new);
        Ok(())
    }

    /// Returns a side, on the kernel that it names itself or on `kernel`. Adds what the user should know of that name
    /// to `warnings`.
    fn side(
        &self,
        kernel: &'static Preset,
        side: &NamedSide,
        warnings: &mut Vec<String>,
    ) -> Result<Variant, SpecError> {
        let (machine, given) = (self.machine, side.given());
        let hint = |kernel: &Preset| format!("wakelab kernel show {} lists its features", kernel.name);
        let text = side.text.as_ref().map_err(|what| {
            let governor = given.value.split(',').map(str::trim).find(|word| governor(word).is_ok());
            let schedulers = "`wakelab docs scheduler-authors` says how a side names a scheduler";
            let usual = || if what.starts_with("scx") { schedulers.to_owned() } else { hint(kernel) };
            let hint = governor.map_or_else(usual, |word| {
                format!("a side names its governor as governor={word}; `wakelab docs pm` lists such options")
            });
            given.error(what.as_str()).with_hint(hint)
        })?;
        let own = text.kernel.as_ref().map(|name| {
            let own = Preset::get(name).map_err(|e| given.error(e.to_string()))?;
            wakelab_sim::check(machine, own).map_err(|e| self.not_simulated(given, e))?;
            add_new(warnings, own.stands_for(name));
            Ok::<_, SpecError>(own)
        });
        let own = own.transpose()?;
        let kernel = own.unwrap_or(kernel);
        let mut variant = Variant::on(machine, kernel, &text.switches).map_err(|e| {
            let hint = match e {
                VariantError::Power(_) => "`wakelab docs pm` lists a side's options for power management".to_owned(),
                _ => hint(kernel),
            };
            given.error(e.to_string()).with_hint(hint)
        })?;
        let scaled = scaled(machine, kernel, &text.switches);
        add_new(warnings, scaled.into_iter().map(|note| format!("{}: {note}", given.place)));
        if let Some(named) = &text.scheduler {
            let name = match &named.name {
                SchedulerName::Path(path) => {
                    SchedulerName::Path(self.spec.folder.join(path).to_string_lossy().into_owned())
                }
                name => name.clone(),
            };
            let (scheduler, found) =
                load_scheduler(&self.spec.schedulers, &name, &named.settings).map_err(|what| given.error(what))?;
            let (_, missing) =
                wakelab_sim::check_scheduler(machine, kernel, &scheduler).map_err(|e| given.error(e.to_string()))?;
            add_new(warnings, missing);
            variant.scheduler = Some(Arc::new(scheduler));
            let separator = if variant.label.is_empty() { "" } else { "," };
            // The version of a crate that is named without one is part of the result; where an experiment lies is not.
            let name = if found == name { named.name.clone() } else { found };
            let named = SchedulerText { name, settings: named.settings.clone() };
            variant.label = format!("{named}{separator}{}", variant.label);
        }
        if let Some(own) = own {
            let separator = if variant.label.is_empty() { "" } else { "," };
            variant.label = format!("kernel={}{separator}{}", own.name, variant.label);
        }
        Ok(variant)
    }

    /// Whether every run of a side can begin.
    fn can_begin(&self, side: &Variant, cases: &[Case]) -> Result<(), SpecError> {
        let Some(first) = cases.first() else { return Ok(()) };
        let &Cell { spec, machine, given, .. } = self;
        let setup = Setup {
            machine: side.machine.as_deref().unwrap_or(machine),
            kernel: &side.kernel,
            features: side.features,
            workload: &first.workload,
            seed: spec.seed,
            until: 0,
            mechanisms: Mechanisms::default(),
            observer_cost: spec.observer_cost_ns,
            pm: side.pm,
            scheduler: side.scheduler.as_deref(),
        };
        wakelab_sim::check_workloads(&setup, cases.iter().map(|case| &*case.workload)).map_err(|(at, error)| {
            let case = &cases[at];
            let named = spec.workloads.iter().find(|workload| workload.name.value == case.name);
            let what = format!("{}: {error}", case.workload.load);
            named.map_or_else(|| given.error(&what), |workload| workload.name.error(&what))
        })
    }

    /// Returns an error at the name that is wrong, that of the kernel being `kernel`, with the kernels that can be
    /// simulated on the machine as the hint.
    fn not_simulated(&self, kernel: &Given<String>, error: SimError) -> SpecError {
        let simulated = Preset::all().iter().filter(|kernel| wakelab_sim::check(self.machine, kernel).is_ok());
        let kernels: Vec<&str> = simulated.map(|kernel| kernel.name).collect();
        let hint = match kernels[..] {
            [] => "`wakelab machine list` shows machines that can be simulated".to_owned(),
            _ => format!("kernels that can be simulated on {}: {}", self.machine.name, kernels.join(", ")),
        };
        match error {
            SimError::Kernel(what) => kernel.error(what).with_hint(hint),
            SimError::Machine(what) => self.given.error(what).with_hint(hint),
            error => self.given.error(error.to_string()),
        }
    }

    /// The cases of a workload, of which a share of the CPUs is one of `cpus`, and what was let pass in its file.
    fn cases(
        &self,
        catalogue: &dyn Catalogue,
        workload: &WorkloadSpec,
        cpus: u32,
    ) -> Result<(Vec<Case>, Vec<String>), SpecError> {
        let WorkloadSpec { name, load, params } = workload;
        let mut numbers: Vec<(String, u64)> = params.iter().map(|(name, n)| (name.clone(), n.value)).collect();
        let fitted = self.machine.fitted_params(&name.value);
        numbers.extend(fitted.filter(|(name, _)| !params.iter().any(|(given, _)| given == name)));
        let found = self.spec.found(&name.value);
        let made = if self.spec.lenient {
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
}

/// Adds the warnings that are not there yet.
fn add_new(warnings: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for warning in more {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
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
