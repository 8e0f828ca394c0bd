//! A scheduler's object, and what its loader sets before and after it is loaded.

use crate::bpf_ops::{BpfOps, State};
use crate::kernel_objects::{KernelObjects, refused_fields};
use crate::kfuncs;
use crate::loaders::{Finds, Known, Loading, Step, loading};
use crate::user_space;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_bpf::btf::{Btf, Kind};
use wakelab_bpf::image::{Image, Map, MapKind, Member, StructOps};
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_bpf::{Kconfig, LinkOptions, Object, VariableError};
use wakelab_kernel::{ExtRules, ExtTypes};
use wakelab_scx_core::ext::Declared;
use wakelab_scx_core::flags::{SCX_OPS_FLAGS, SCX_WATCHDOG_MAX_TIMEOUT_MS};
use wakelab_scx_core::ops::{Host, Op, Ops, Scheduler};

/// A scheduler in BPF.
pub struct BpfScheduler {
    name: String,
    object: Object,
    /// Variables that are set before it is loaded, in order.
    settings: Vec<(String, i128)>,
    /// Flags of its `sched_ext_ops`, besides those that it has.
    flags: u64,
    /// Programs of `SEC("syscall")` that run after it was loaded, with their contexts.
    programs: Vec<(String, Vec<u8>)>,
    identity: String,
    /// The object for each kernel that it was loaded on so far.
    linked: Mutex<Vec<(LinkKey, Linking)>>,
    /// Ends its programs once it is set.
    stop: Option<&'static AtomicBool>,
}

/// The key that determines how an object is linked: the kernel's types, its version, and CONFIG_HZ.
type LinkKey = (ExtTypes, u32, u64);

/// An object that was linked, or what is missing.
type Linking = Result<Arc<Linked>, String>;

/// An object for a kernel, before its loader sets anything.
#[derive(Debug)]
struct Linked {
    btf: Btf,
    image: Image,
}

impl fmt::Debug for BpfScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BpfScheduler").field("name", &self.name).finish_non_exhaustive()
    }
}

impl BpfScheduler {
    /// The scheduler of a compiled object. `identity` tells it from all others: a hash of the object.
    ///
    /// # Errors
    /// Fails if the object is none.
    pub fn new(name: &str, object: &[u8], identity: &str) -> Result<Self, String> {
        let object = Object::parse(object).map_err(|error| error.to_string())?;
        Ok(BpfScheduler {
            name: name.to_owned(),
            object,
            settings: Vec::new(),
            flags: 0,
            programs: Vec::new(),
            identity: identity.to_owned(),
            linked: Mutex::default(),
            stop: None,
        })
    }

    /// Sets a variable before it is loaded: `slice_ns`, `cpu_capacity[3]`. Whether the object has it shows when it is
    /// loaded.
    pub fn set(&mut self, variable: &str, value: i128) {
        self.settings.push((variable.to_owned(), value));
        self.identity.push_str(&format!(",{variable}={value}"));
    }

    /// Ends its programs once `stop` is set: the flag that the simulated run is given, too. The run does not look while
    /// a program runs.
    pub fn stop_with(&mut self, stop: &'static AtomicBool) {
        self.stop = Some(stop);
    }

    /// Adds flags to those of its `sched_ext_ops`, as loaders do before they load it.
    pub fn add_flags(&mut self, flags: u64) {
        self.flags |= flags;
        self.identity.push_str(&format!(",flags={flags:#x}"));
    }

    /// Runs a program of `SEC("syscall")` with this context each time it has been loaded, before `ops.init()`
    /// (`bpf_prog_test_run_opts()`). An object without the program is loaded as it is.
    pub fn run_program(&mut self, program: &str, context: &[u8]) {
        self.programs.push((program.to_owned(), context.to_vec()));
        self.identity.push_str(&format!(",{program}({context:?})"));
    }

    /// Returns what the loader of this scheduler would pass to a real kernel of the same version on the same machine:
    /// the values with which [`load`](Scheduler::load) simulates it.
    ///
    /// # Errors
    /// Fails as [`load`](Scheduler::load) does, but not for what is not modelled of programs; and if the loader does
    /// more than fill maps and run programs.
    pub fn live(&self, host: &Host<'_>) -> Result<Live, String> {
        let Opened { image, declared, loading, .. } = self.opened(host)?;
        let (mut elements, mut programs) = (Vec::new(), Vec::new());
        let mut more = !loading.without.is_empty();
        for step in loading.after_load {
            match step {
                Step::Element { map, key, value } => elements.push((map, key, value)),
                Step::Program { name, context } => programs.push((name, context)),
                Step::TopologyNode { .. } => more = true,
            }
        }
        let mut after_attach = Vec::new();
        for (cpu, step) in loading.after_attach {
            match step {
                Step::Program { name, context } => after_attach.push((cpu, name, context)),
                Step::Element { .. } | Step::TopologyNode { .. } => more = true,
            }
        }
        if more {
            return Err("its loader removes operations, or does more than fill maps and run programs".to_owned());
        }
        let global = |map: Map| (!map.variables.is_empty()).then_some((map.name, map.data));
        let struct_ops = sched_ext_ops(&image).expect("link() has looked for it").name.clone();
        let sections = image.maps.into_iter().filter_map(global).collect();
        Ok(Live { struct_ops, name: declared.name, flags: declared.flags, sections, elements, programs, after_attach })
    }

    /// The object linked and with the values that its loader sets.
    fn opened(&self, host: &Host<'_>) -> Result<Opened, String> {
        let Some(types) = host.rules.types else {
            return Err(format!("wakelab has no types of {} to which its programs could be relocated", host.kernel));
        };
        let linked = self.linked(types, host)?;
        let mut image = linked.image.clone();
        let known_flags = u64::from(host.rules.ops_flags);
        let ops = sched_ext_ops(&image).expect("link() has looked for it");
        let (mut declared, mut programs) = declared(ops)?;
        check_member(&image, &programs)?;
        let types_of_object = self.object.btf();
        let size_of = |name: &str| types_of_object.size(types_of_object.find_composite(name)?);
        let kernel_has = |name: &str| linked.btf.function(name).is_some();
        let setting = |name: &str| {
            let of = self.settings.iter().rev().find(|(variable, _)| variable == name);
            of.map(|&(_, value)| value)
        };
        let finds = Finds {
            topology: host.topology,
            hz: host.hz,
            kernel_has: &kernel_has,
            size_of: &size_of,
            setting: &setting,
        };
        let mut loading = loading(&declared.name, &finds)?;
        self.check_release(&mut loading)?;
        let own = self.programs.iter().cloned();
        loading.after_load.extend(own.map(|(name, context)| Step::Program { name: name.into(), context }));
        if loading.flags.is_none() {
            init_flags(declared.flags, host, &mut loading.warnings)?;
        }
        declared.flags = loading.flags.unwrap_or(declared.flags) | loading.added_flags | self.flags;
        declared.flags &= known_flags;
        loading.without.iter().for_each(|&op| programs[op as usize] = None);
        // Loaders leave out what the kernel's struct lacks, and say so (SCX_OPS_OPEN()).
        let later = [(Op::CgroupSetBandwidth, host.rules.cgroup_max), (Op::CgroupSetIdle, host.rules.cgroup_idle)];
        for (op, _) in later.into_iter().filter(|(_, has)| !has) {
            if programs[op as usize].take().is_some() {
                loading.warnings.push(format!("{} has no ops.{}(): it is left out", host.kernel, op.name()));
            }
        }
        // What is done after loading is done where ops.init() is called.
        let has = |op: &Op| programs[*op as usize].is_some() || *op == Op::Init && !loading.after_load.is_empty();
        declared.ops = Op::ALL.into_iter().filter(has).collect();
        for (section, bytes) in &loading.resize {
            image.resize(section, *bytes).map_err(|error| error.to_string())?;
        }
        // A variable that is missing is another release's.
        let set = |result: Result<(), VariableError>| match result {
            Err(error) if !matches!(error, VariableError::Missing(_)) => Err(error.to_string()),
            _ => Ok(()),
        };
        let mut missing: Vec<String> = Vec::new();
        let mut note = |result: Result<(), VariableError>, variable: &str| {
            let root = variable.split(['[', '.']).next().unwrap_or(variable);
            if matches!(result, Err(VariableError::Missing(_))) && !missing.iter().any(|known| known == root) {
                missing.push(root.to_owned());
            }
            set(result)
        };
        for (variable, value) in &loading.numbers {
            note(image.set_number(variable, *value), variable)?;
        }
        for (variable, values) in &loading.arrays {
            note(image.set_array(variable, values), variable)?;
        }
        for (variable, value) in &self.settings {
            image.set_number(variable, *value).map_err(|error| error.to_string())?;
        }
        if let (Known::Crate(release), false) = (loading.known, missing.is_empty()) {
            loading.warnings.push(format!(
                "wakelab knows its loader in {release}, which sets {}: this object belongs to another release and has \
                 no such variables",
                user_space::listed(&missing)
            ));
        }
        Ok(Opened { linked, image, declared, programs, loading })
    }

    /// Refuses an object whose programs want more than its loader, as it is known here, gives them
    /// (`bpf_prog_test_run_syscall()` would return EINVAL, or the program read what nobody wrote).
    fn check_release(&self, loading: &mut Loading) -> Result<(), String> {
        let release = match loading.known {
            Known::Crate(release) => format!("that of {release}"),
            Known::Tool | Known::No => "that of another version".to_owned(),
        };
        let steps = loading.after_load.iter().chain(loading.after_attach.iter().map(|(_, step)| step));
        let mut longer: Vec<&str> = Vec::new();
        for step in steps {
            let Step::Program { name, context } = step else { continue };
            let Some(size) = user_space::context_size(self.object.btf(), name) else { continue };
            let given = context.len() as u64;
            if given < size {
                return Err(format!(
                    "wakelab's loader is {release} and does not fit {name}() of this object, which takes {size} bytes \
                     where that loader passes {given}: the object belongs to another release"
                ));
            }
            if given > size && !longer.contains(&&**name) {
                longer.push(name);
            }
        }
        let warnings: Vec<String> = longer
            .iter()
            .map(|name| {
                format!("wakelab's loader is {release} and may not fit {name}() of this object, which takes less")
            })
            .collect();
        loading.warnings.extend(warnings);
        Ok(())
    }

    /// The object, linked for a kernel of these types. It is linked once for each kernel.
    fn linked(&self, types: ExtTypes, host: &Host<'_>) -> Linking {
        let key = (types, host.rules.version_code, host.hz);
        let mut all = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, linked)) = all.iter().find(|(of, _)| *of == key) {
            return linked.clone();
        }
        let linked = self.link(types, host).map(Arc::new);
        all.push((key, linked.clone()));
        linked
    }

    fn link(&self, types: ExtTypes, host: &Host<'_>) -> Result<Linked, String> {
        let btf = Btf::parse(types.btf()).map_err(|error| error.to_string())?;
        let kernel_has = |name: &str| btf.function(name).is_some();
        let options = LinkOptions {
            kfuncs: &kernel_has,
            ksyms: &|name| KSYMS.contains(&name) && btf.has_variable(name),
            kconfig: kconfig(host.rules, host.hz),
            ..LinkOptions::default()
        };
        let mut image = self.object.link(&btf, &options).map_err(|error| error.to_string())?;
        let Some(ops) = sched_ext_ops(&image) else {
            return Err(
                "the object has no struct_ops of the type sched_ext_ops or sched_ext_ops_cid; expected the object of a \
                 scheduler"
                    .to_owned(),
            );
        };
        if ops.type_name == CID_FORM {
            if btf.find_composite(CID_FORM).is_none() {
                return Err(format!(
                    "its struct_ops is a {CID_FORM}, which the kernel does not have; expected 7.2 or newer"
                ));
            }
            // bpf_scx_reg_cid()
            if !image.maps.iter().any(|map| map.kind == MapKind::Arena) {
                return Err("cid-form scheduler must use a BPF arena map (EINVAL)".to_owned());
            }
        }
        set_constants(&mut image, &btf)?;
        Ok(Linked { btf, image })
    }
}

/// Variables of the kernel that programs may read, where it has them. `cpufreq_cpu_data` has no place in memory:
/// scx_lavd reads it without a CPU's offset, which fails on a real kernel, too.
const KSYMS: [&str; 5] = ["__preempt_count", "cpufreq_cpu_data", "pcpu_hot", "runqueues", "sd_llc_id"];

/// An object of which a loader has set everything that it sets before loading.
struct Opened {
    linked: Arc<Linked>,
    image: Image,
    declared: Declared,
    /// By operation.
    programs: [Option<u32>; Op::ALL.len()],
    /// The work that is left once it is loaded.
    loading: Loading,
}

/// The input that a loader gives the kernel ([`BpfScheduler::live`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The name of the map of the scheduler's `struct sched_ext_ops`.
    pub struct_ops: String,
    /// `ops.name`.
    pub name: String,
    /// `ops.flags`.
    pub flags: u64,
    /// Sections of global data (`.rodata`, `.bss`, `.data.cpu_gimme_task`), and what they hold before loading.
    pub sections: Vec<(String, Vec<u8>)>,
    /// Elements of maps after loading: the map, the key and the value.
    pub elements: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    /// Programs of `SEC("syscall")` that run after that, in order, and their contexts.
    pub programs: Vec<(Cow<'static, str>, Vec<u8>)>,
    /// Programs that run once the scheduler is attached, each on a CPU.
    pub after_attach: Vec<(u32, Cow<'static, str>, Vec<u8>)>,
}

/// The struct of a scheduler that names CPUs by their cids, 7.2.
const CID_FORM: &str = "sched_ext_ops_cid";

fn sched_ext_ops(image: &Image) -> Option<&StructOps> {
    image.struct_ops.iter().find(|ops| ["sched_ext_ops", CID_FORM].contains(&ops.type_name.as_str()))
}

/// The member of `struct sched_ext_ops` at the place of one of `struct sched_ext_ops_cid` (`CID_OFFSET_MATCH()`).
fn cpu_form(member: &str) -> &str {
    match member {
        "select_cid" => "select_cpu",
        "set_cmask" => "set_cpumask",
        "cid_online" => "cpu_online",
        "cid_offline" => "cpu_offline",
        "dump_cid" => "dump_cpu",
        other => other,
    }
}

/// The kernel's configuration, as far as programs ask for it.
fn kconfig(rules: &ExtRules, hz: u64) -> BTreeMap<String, Kconfig> {
    let values = [
        ("LINUX_KERNEL_VERSION", Kconfig::Number(u64::from(rules.version_code))),
        ("CONFIG_HZ", Kconfig::Number(hz)),
        ("CONFIG_NR_CPUS", Kconfig::Number(8192)),
        ("CONFIG_PREEMPT_RCU", Kconfig::Yes),
        ("CONFIG_PREEMPT_RT", Kconfig::No),
        ("CONFIG_X86_64", Kconfig::Yes),
        ("CONFIG_NO_HZ_IDLE", Kconfig::Yes),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Sets what every loader sets: the constants of the kernel that programs have as variables (`SCX_ENUM_INIT()`), 0 for
/// those that the kernel lacks.
fn set_constants(image: &mut Image, btf: &Btf) -> Result<(), String> {
    // An object can have many variables, and the kernel has many constants: each is looked at once.
    let mut constants: BTreeMap<&str, u64> = BTreeMap::new();
    for id in 1..btf.len() {
        if let Kind::Enum { values, .. } = &btf.get(id).kind {
            for (name, value) in values {
                constants.entry(btf.string(*name)).or_insert(*value);
            }
        }
    }
    let value = |name: &str| {
        let constant = name.strip_prefix("__").filter(|name| name.starts_with("SCX_"))?;
        Some(constants.get(constant).copied().unwrap_or(0))
    };
    image.set_numbers(&value).map_err(|error| error.to_string())
}

/// `bpf_scx_check_member()`: only operations that may sleep have sleepable programs.
fn check_member(image: &Image, programs: &[Option<u32>; Op::ALL.len()]) -> Result<(), String> {
    const MAY_SLEEP: [Op; 7] =
        [Op::Init, Op::InitTask, Op::CgroupInit, Op::CgroupExit, Op::CgroupPrepMove, Op::CpuOnline, Op::CpuOffline];
    for op in Op::ALL.into_iter().filter(|op| !MAY_SLEEP.contains(op)) {
        let Some(function) = programs[op as usize].and_then(|program| image.functions.get(program as usize)) else {
            continue;
        };
        if function.section.split('/').next() == Some("struct_ops.s") {
            return Err(format!(
                "ops.{}() is a sleepable program ({}() in SEC(\"{}\")), which no kernel loads (EINVAL, \
                 bpf_scx_check_member()); expected SEC(\"struct_ops\")",
                op.name(),
                function.name,
                function.section
            ));
        }
    }
    Ok(())
}

/// `bpf_scx_init_member()` of an object's own flags. Those of other kernels are left out with a warning, as their
/// loaders have to (`__COMPAT_ENUM_OR_ZERO()`).
fn init_flags(flags: u64, host: &Host<'_>, warnings: &mut Vec<String>) -> Result<(), String> {
    let unknown = flags & !u64::from(host.rules.ops_flags);
    let named: Vec<String> =
        SCX_OPS_FLAGS.iter().filter(|(_, flag)| unknown & flag != 0).map(|(name, _)| (*name).to_owned()).collect();
    let nowhere = SCX_OPS_FLAGS.iter().fold(unknown, |left, (_, flag)| left & !flag);
    if nowhere != 0 {
        return Err(format!(
            "its ops.flags have {nowhere:#x}, which are flags of schedulers in no kernel: {} refuses it (EINVAL, \
             bpf_scx_init_member())",
            host.kernel
        ));
    }
    if !named.is_empty() {
        warnings.push(format!(
            "{} has no {} and would refuse the object (EINVAL): left out here, as a loader has to do there",
            host.kernel,
            user_space::listed(&named)
        ));
    }
    Ok(())
}

/// Returns the declarations of an instance of `sched_ext_ops` and its programs, with the limits of
/// `bpf_scx_init_member()`.
fn declared(ops: &StructOps) -> Result<(Declared, [Option<u32>; Op::ALL.len()]), String> {
    let mut programs = [None; Op::ALL.len()];
    let mut declared = Declared {
        name: String::new(),
        ops: Default::default(),
        cid_form: ops.type_name == CID_FORM,
        flags: 0,
        dispatch_max_batch: 0,
        timeout_ms: 0,
    };
    let mut missing = Vec::new();
    for (name, member) in &ops.members {
        match member {
            Member::Program(program) => {
                let name = if declared.cid_form { cpu_form(name) } else { name };
                match Op::ALL.into_iter().find(|op| op.name() == name) {
                    Some(op) => programs[op as usize] = Some(*program),
                    None if NEVER_CALLED.contains(&name) => {}
                    None => missing.push(name),
                }
            }
            Member::Text(text) if name == "name" => declared.name.clone_from(text),
            Member::Number(number) => match name.as_str() {
                "flags" => declared.flags = *number,
                "dispatch_max_batch" if i32::try_from(*number).is_err() => {
                    return Err(format!("its ops.dispatch_max_batch is {number}; kernels refuse it (E2BIG)"));
                }
                "dispatch_max_batch" => declared.dispatch_max_batch = *number as u32,
                "timeout_ms" if *number > u64::from(SCX_WATCHDOG_MAX_TIMEOUT_MS) => {
                    return Err(format!(
                        "its ops.timeout_ms is {number}; kernels accept up to {SCX_WATCHDOG_MAX_TIMEOUT_MS} (E2BIG)"
                    ));
                }
                "timeout_ms" => declared.timeout_ms = *number as u32,
                _ => {}
            },
            Member::Text(_) => {}
        }
    }
    if !missing.is_empty() {
        return Err(format!("its operations {} are not modelled", missing.join(", ")));
    }
    declared.ops = Op::ALL.into_iter().filter(|op| programs[*op as usize].is_some()).collect();
    Ok((declared, programs))
}

/// Operations that a simulated kernel has no reason to call: cores are shared with anybody, and nobody asks for a dump
/// or, when a run is over, for what `ops.exit()` recorded.
const NEVER_CALLED: [&str; 8] =
    ["core_sched_before", "dump", "dump_cpu", "dump_task", "exit", "sub_attach", "sub_detach", "priv"];

impl Scheduler for BpfScheduler {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&self, host: &Host<'_>) -> Result<(Declared, Box<dyn Ops>), String> {
        let Opened { linked, image, declared, programs, loading } = self.opened(host)?;
        let btf = &linked.btf;
        if let Some(refused) = refused_fields(&image) {
            return Err(refused);
        }
        let nr_cpus = host.topology.cpus.len() as u32;
        let nr_nodes = host.topology.cpus.iter().map(|cpu| cpu.node + 1).max().unwrap_or(1);
        let has = |name: &str| kfuncs::find(name).is_some();
        let mut machine =
            Machine::new(image, &Limits::default(), nr_cpus, &has).map_err(|refused| refused.to_string())?;
        if let Some(stop) = self.stop {
            machine.set_stop(stop);
        }
        let mut objects = KernelObjects::new(btf, machine.memory_mut(), nr_cpus, nr_nodes)?;
        objects.only_accessed(machine.image());
        let state = State::new(&machine, objects, programs, host);
        Ok((declared, Box::new(BpfOps::new(machine, state, loading))))
    }

    fn warnings(&self, host: &Host<'_>) -> Vec<String> {
        let Ok(Opened { image, declared, mut loading, .. }) = self.opened(host) else { return Vec::new() };
        loading.warnings.extend(user_space::set_but_unread(&image, &self.settings));
        if loading.known == Known::No {
            loading.warnings.extend(user_space::of_unknown_loader(&image, &declared.name, &self.settings));
        }
        loading.warnings.into_iter().map(|warning| format!("{}: {warning}", self.name)).collect()
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}
