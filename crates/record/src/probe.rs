//! `--probe`: which types, symbols, functions and files the recorder finds in this kernel, and what is lost without
//! each.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Composite, Enum, Func, Var};
use std::ffi::OsStr;
use std::fmt::Write;

/// Something that the recorder uses.
enum Item {
    /// A kernel version that can be recorded.
    Version,
    /// A function that BTF describes.
    Function(&'static str),
    /// A function to which programs can be attached, according to tracefs.
    Attachable(&'static str),
    /// A per-CPU variable that BTF describes.
    Variable(&'static str),
    /// A symbol of /proc/kallsyms.
    Symbol(&'static str),
    /// A field of a struct, by the names that it has in different versions.
    Field(&'static str, &'static [&'static str]),
    /// A BPF helper, by the name of its number.
    Helper(&'static str),
    /// The names of the scheduler's features in BTF.
    Features,
    /// A file.
    File(&'static str),
}

use Item::{Attachable, Features, Field, File, Function, Helper, Symbol, Variable, Version};

const ITEMS: [(Item, &str); 26] = [
    (Version, "nothing can be recorded (before 5.13)"),
    (Function("select_task_rq_fair"), "choices are inferred from tracepoints, and rows are not scored"),
    (Attachable("select_task_rq_fair"), "choices are inferred from tracepoints, and rows are not scored"),
    (Variable("runqueues"), "nothing can be recorded"),
    (Variable("sd_llc_id"), "LLCs are numbered by their CPUs"),
    (Variable("sd_llc_size"), "sd_llc_size is 1"),
    (Field("task_struct", &["recent_used_cpu"]), "nothing can be recorded"),
    (Field("task_struct", &["numa_preferred_nid"]), "the preferred node is unknown (-1)"),
    (Field("cfs_rq", &["h_nr_queued", "h_nr_running"]), "nothing can be recorded"),
    (Field("cfs_rq", &["h_nr_runnable", "h_nr_delayed"]), "no task's dequeue is delayed (before 6.12)"),
    (Field("cfs_rq", &["h_nr_idle", "idle_h_nr_running"]), "nothing can be recorded"),
    (Field("sched_entity", &["cfs_rq"]), "task_h_load() is load_avg, as in this kernel (no FAIR_GROUP_SCHED)"),
    (Field("rq", &["idle_state"]), "exit latencies are unknown, as in this kernel (no CPU_IDLE)"),
    (Field("sched_avg", &["util_est"]), "nothing can be recorded"),
    (Field("rq", &["ttwu_pending"]), "nothing can be recorded"),
    (Field("rq", &["wake_avg_idle"]), "the values that SIS_PROP reads of it are null (before 5.13, and since 6.6)"),
    (Field("rq", &["cpu_capacity_orig"]), "capacities are taken from sysfs, or 1024 (since 6.7)"),
    (Field("sched_domain", &["avg_scan_cost"]), "the values that SIS_PROP reads of it are null (since 6.6)"),
    (Field("sched_domain", &["imb_numa_nr"]), "imb_numa_nr is 0 (before 5.18)"),
    (Field("sched_domain_shared", &["nr_idle_scan"]), "SIS_UTIL's hint is 0 (before 6.0)"),
    (Symbol("sysctl_sched_features"), "switches of features are not noticed"),
    (Features, "only debugfs names the features"),
    (File("/sys/kernel/debug/sched/features"), "only BTF names the features; settings of debugfs are unknown"),
    (Helper("BPF_FUNC_loop"), "the verifier may give up on large machines (before 5.17)"),
    (Helper("BPF_FUNC_ringbuf_output"), "nothing can be recorded"),
    (File("/sys/kernel/btf/vmlinux"), "nothing can be recorded"),
];

/// The report of `--probe`, a line for each item.
pub fn report() -> String {
    let btf = Btf::from_vmlinux().ok();
    let mut text = String::new();
    for (item, lost) in &ITEMS {
        let (name, found) = (item.name(), item.found(btf.as_ref()));
        let _ = match found {
            true => writeln!(text, "yes  {name}"),
            false => writeln!(text, "no   {name}: {lost}"),
        };
    }
    text
}

impl Item {
    fn name(&self) -> String {
        match self {
            Version => format!("Linux {}", crate::refusal::release()),
            Function(name) => format!("{name}()"),
            Attachable(name) => format!("attaching to {name}()"),
            Variable(name) => format!("{name} (per CPU)"),
            Symbol(name) | File(name) => (*name).to_owned(),
            Field(of, names) => format!("{of}.{}", names.join(" or ")),
            Helper(name) => format!("{name} (helper)"),
            Features => "the names of the scheduler's features in BTF".to_owned(),
        }
    }

    fn found(&self, btf: Option<&Btf<'_>>) -> bool {
        match (self, btf) {
            (File(path), _) => std::fs::metadata(path).is_ok(),
            (Version, _) => crate::refusal::is_new_enough(&crate::refusal::release()),
            (Attachable(name), _) => {
                ATTACHABLE.iter().find_map(|path| std::fs::read_to_string(path).ok()).is_none_or(|t| has_line(&t, name))
            }
            (Symbol(name), _) => has_symbol(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default(), name),
            (_, None) => false,
            (Function(name), Some(btf)) => btf.type_by_name::<Func<'_>>(name).is_some(),
            (Variable(name), Some(btf)) => btf.type_by_name::<Var<'_>>(name).is_some(),
            (Field(of, names), Some(btf)) => has_field(btf, of, names),
            (Helper(name), Some(btf)) => members(btf).any(|(_, member)| member == *name),
            (Features, Some(btf)) => !feature_names(btf).is_empty(),
        }
    }
}

/// The files of tracefs that list the functions to which programs can be attached.
const ATTACHABLE: [&str; 2] =
    ["/sys/kernel/tracing/available_filter_functions", "/sys/kernel/debug/tracing/available_filter_functions"];

fn has_line(functions: &str, name: &str) -> bool {
    functions.lines().any(|line| line.split_whitespace().next() == Some(name))
}

fn has_field(btf: &Btf<'_>, of: &str, names: &[&str]) -> bool {
    let mut structs = btf.type_by_kind::<Composite<'_>>().filter(|found| found.name() == Some(OsStr::new(of)));
    structs.any(|found| has_member(btf, &found, names))
}

/// Whether a type has a member with one of these names. Members of unnamed members count.
fn has_member(btf: &Btf<'_>, of: &Composite<'_>, names: &[&str]) -> bool {
    (0..of.len()).filter_map(|at| of.get(at)).any(|member| match member.name {
        Some(name) if !name.is_empty() => names.iter().any(|wanted| name == OsStr::new(wanted)),
        _ => btf.type_by_id::<Composite<'_>>(member.ty).is_some_and(|inner| has_member(btf, &inner, names)),
    })
}

/// The members of all enums, with their values.
fn members<'b>(btf: &'b Btf<'_>) -> impl Iterator<Item = (i64, String)> + 'b {
    btf.type_by_kind::<Enum<'_>>().flat_map(|of| {
        let members = (0..of.len()).filter_map(move |at| of.get(at));
        members.filter_map(|member| Some((member.value, member.name?.to_string_lossy().into_owned())))
    })
}

const FEATURE: &str = "__SCHED_FEAT_";

/// The names of the scheduler's features in the order of their bits; empty if BTF does not have them.
fn feature_names(btf: &Btf<'_>) -> Vec<String> {
    let mut found: Vec<(i64, String)> = members(btf)
        .filter_map(|(value, name)| Some((value, name.strip_prefix(FEATURE)?.to_owned())))
        .filter(|(_, name)| name != "NR")
        .collect();
    found.sort();
    found.dedup();
    let in_order = found.iter().enumerate().all(|(at, (value, _))| *value == at as i64);
    if in_order { found.into_iter().map(|(_, name)| name).collect() } else { Vec::new() }
}

/// The names of the running kernel's scheduler features, in the order of their bits; empty if BTF does not have them.
pub fn features() -> Vec<String> {
    Btf::from_vmlinux().map(|btf| feature_names(&btf)).unwrap_or_default()
}

/// The function of the fair class that decides on wake-up preemption, by its names from the newest.
const WAKEUP_PREEMPT: [&str; 3] = ["wakeup_preempt_fair", "check_preempt_wakeup_fair", "check_preempt_wakeup"];

/// The name of that function in the running kernel, if it has it.
pub fn wakeup_preempt() -> Option<&'static str> {
    first_found(&WAKEUP_PREEMPT)
}

/// The function that finds the group to pull from, by its names from the newest.
const FIND_BUSIEST_GROUP: [&str; 2] = ["sched_balance_find_src_group", "find_busiest_group"];

/// The name of that function in the running kernel, if it has it.
pub fn find_busiest_group() -> Option<&'static str> {
    first_found(&FIND_BUSIEST_GROUP)
}

/// The first of these functions that the running kernel has.
fn first_found(names: &[&'static str]) -> Option<&'static str> {
    let btf = Btf::from_vmlinux().ok()?;
    names.iter().copied().find(|name| Function(name).found(Some(&btf)))
}

/// Whether the running kernel has `bpf_loop()`. WAKELAB_RECORD_NO_BPF_LOOP makes this false, for tests.
pub fn has_bpf_loop() -> bool {
    let disabled = std::env::var_os("WAKELAB_RECORD_NO_BPF_LOOP").is_some();
    !disabled && Btf::from_vmlinux().is_ok_and(|btf| Helper("BPF_FUNC_loop").found(Some(&btf)))
}

fn has_symbol(kallsyms: &str, name: &str) -> bool {
    kallsyms.lines().any(|line| line.split_whitespace().nth(2) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_by_their_whole_names() {
        let text = "ffff0 T runqueues_x\nffff1 D sysctl_sched_features\nffff2 t a [module]\n";
        assert!(has_symbol(text, "sysctl_sched_features") && has_symbol(text, "a"));
        assert!(!has_symbol(text, "runqueues"));
        assert!(has_line("a\nb [module]\n", "a") && has_line("a\nb [module]\n", "b"));
        assert!(!has_line("select_task_rq_fair.isra.0\n", "select_task_rq_fair"));
    }
}
