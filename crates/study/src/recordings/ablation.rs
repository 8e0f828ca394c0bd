//! What each rule and input of the placement is worth: how many recorded decisions are lost when it is wrong.
//!
//! A mechanism that loses no decision in any recording or vector has no place in the model. Each entry of [`RULES`]
//! makes one rule or input wrong and nothing else. A decision is lost if its CPU, or the `recent_used_cpu` that it
//! leaves, then differs from the kernel's.

use super::decider::Decider;
use super::explain::Differs;
use super::progress::{FileOutcome, Progress};
use super::rows::read_files;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_events::{Row, Snapshot, TopoFile};
use wakelab_kernel::{Code, Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::{Cx, Decision, Rules, Select, WakeFlags, select_task_rq_fair};

/// What is made wrong.
enum Wrong {
    /// The feature is off.
    Feature(Feature),
    /// The code has another form.
    Code(fn(&mut Code)),
    /// The scheduling domains are different.
    Domains(fn(&mut SchedDomains)),
    /// The recorded row is different; the second argument is the right decision.
    Row(fn(&mut Row, &Decision)),
}

/// A rule or input, and how it is made wrong.
pub struct Rule {
    /// The name of the rule or input.
    pub name: &'static str,
    /// How it is made wrong.
    pub what: &'static str,
    wrong: Wrong,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("name", &self.name).finish_non_exhaustive()
    }
}

const fn rule(name: &'static str, what: &'static str, wrong: Wrong) -> Rule {
    Rule { name, what, wrong }
}

/// All rules and inputs.
pub static RULES: &[Rule] = &[
    rule(
        "wake_wide",
        "never wide",
        Wrong::Row(|row, _| {
            row.wakee.flips = 0;
            row.waker.flips_before = 0;
        }),
    ),
    rule(
        "record_wakee",
        "flips as before the wake-up",
        Wrong::Row(|row, _| {
            row.waker.last_wakee_is_p = true;
            row.waker.flip_decay_due = false;
        }),
    ),
    rule("sd_llc_size", "wake_wide() compares with 1", Wrong::Domains(|domains| domains.sd_llc_size.fill(1))),
    rule("WA_IDLE", "off", Wrong::Feature(Feature::WA_IDLE)),
    rule("WA_WEIGHT", "off", Wrong::Feature(Feature::WA_WEIGHT)),
    rule("WA_BIAS", "off", Wrong::Feature(Feature::WA_BIAS)),
    rule(
        "wa_idle_prev",
        "an idle previous CPU does not end wake_affine()",
        Wrong::Code(|code| {
            code.wa_idle_prev = false;
        }),
    ),
    rule("WF_SYNC", "no wake-up is sync", Wrong::Row(|row, _| row.wake_flags.remove(WakeFlags::SYNC))),
    rule("PF_EXITING", "an exiting waker's sync counts", Wrong::Row(|row, _| row.waker.flags &= !4)),
    rule(
        "sync_ignores_delayed",
        "delayed tasks count as running",
        Wrong::Code(|code| {
            code.sync_ignores_delayed = false;
        }),
    ),
    rule(
        "imbalance_pct",
        "100 in wake_affine()'s bias and for groups",
        Wrong::Domains(|domains| {
            domains.domains.iter_mut().flatten().for_each(|sd| sd.imbalance_pct = 100);
        }),
    ),
    rule("task_h_load(p)", "0", Wrong::Row(|row, _| row.wakee.h_load = 0)),
    rule("task_h_load(current)", "0", Wrong::Row(|row, _| row.waker.h_load = 0)),
    rule("cpu_load", "0", Wrong::Row(|row, _| row.cpus.load_avg.fill(0))),
    rule("capacity_of", "1024", Wrong::Row(|row, _| row.cpus.capacity.fill(1024))),
    rule(
        "cpus_ptr",
        "every CPU allowed",
        Wrong::Row(|row, _| {
            row.wakee.affinity = CpuMask::full(row.cpus.nr_running.len() as u32);
        }),
    ),
    rule(
        "idle_cpu",
        "a current idle task is enough",
        Wrong::Row(|row, _| row.idle_mask.clone_from(&row.curr_idle_mask)),
    ),
    rule("target", "an idle target is not seen", Wrong::Row(|row, right| row.idle_mask.clear(right.target))),
    rule(
        "prev",
        "an idle previous CPU is not seen, unless it is the target",
        Wrong::Row(|row, right| {
            if row.wakee.prev_cpu != right.target {
                row.idle_mask.clear(row.wakee.prev_cpu);
            }
        }),
    ),
    rule("cpus_share_cache", "every LLC is one", Wrong::Domains(|domains| domains.sd_llc_id.fill(0))),
    rule("kthread_stack", "off", Wrong::Code(|code| code.kthread_stack = false)),
    rule("recent_used_cpu", "none", Wrong::Row(|row, _| row.wakee.recent_used_cpu = -1)),
    rule("recent_used_always", "written only where it is taken", Wrong::Code(|code| code.recent_used_always = false)),
    rule("has_idle_cores", "never known", Wrong::Feature(Feature::SIS_CORE)),
    rule(
        "select_idle_smt",
        "no siblings",
        Wrong::Domains(|domains| {
            for cpu in 0..domains.nr_cpus {
                domains.smt_mask[cpu as usize] = Arc::new(CpuMask::from_cpus(domains.nr_cpus, [cpu]));
            }
        }),
    ),
    rule(
        "idle_search",
        "three scans, as up to 5.11",
        Wrong::Code(|code| {
            code.idle_search = wakelab_kernel::IdleSearch::ThreeScans;
        }),
    ),
    rule("scan_after_target", "the scan begins at the target", Wrong::Code(|code| code.scan_after_target = false)),
    rule(
        "core_scan_by_span",
        "idle CPUs of a core by affinity alone",
        Wrong::Code(|code| {
            code.core_scan_by_span = false;
        }),
    ),
    rule("SIS_UTIL", "off", Wrong::Feature(Feature::SIS_UTIL)),
    rule("nr_idle_scan", "one more", Wrong::Row(|row, _| row.llcs.iter_mut().for_each(|llc| llc.2 += 1))),
    rule(
        "sched_idle_cpu",
        "CPUs with SCHED_IDLE tasks only are busy",
        Wrong::Code(|code| code.sched_idle_cpus = false),
    ),
    rule(
        "sched_idle_not_for_idle",
        "the other form",
        Wrong::Code(|code| {
            code.sched_idle_not_for_idle = !code.sched_idle_not_for_idle;
        }),
    ),
    rule(
        "wakeup_stats_allowed_only",
        "the other form",
        Wrong::Code(|code| {
            code.wakeup_stats_allowed_only = !code.wakeup_stats_allowed_only;
        }),
    ),
    rule(
        "imb_numa_nr",
        "0",
        Wrong::Domains(|domains| {
            domains.domains.iter_mut().flatten().for_each(|sd| sd.imb_numa_nr = 0);
        }),
    ),
    rule("numa_preferred_nid", "none", Wrong::Row(|row, _| row.wakee.numa_preferred_nid = -1)),
    rule(
        "sgc->capacity",
        "1024 for each CPU",
        Wrong::Row(|row, _| {
            // The recorded machines have up to three levels: core, LLC, all CPUs. A group of a level has at most as
            // many CPUs as this.
            if let Some(slow) = &mut row.slow_path {
                for by_cpu in &mut slow.group_capacity {
                    by_cpu.iter_mut().for_each(|capacity| *capacity = capacity.div_ceil(1024) * 1024);
                }
            }
        }),
    ),
    rule(
        "sgc->imbalance",
        "never",
        Wrong::Row(|row, _| {
            if let Some(slow) = &mut row.slow_path {
                slow.group_imbalance.fill(0);
            }
        }),
    ),
    rule(
        "idle_stamp",
        "by CPU number",
        Wrong::Row(|row, _| {
            if let Some(slow) = &mut row.slow_path {
                slow.idle_stamp.iter_mut().zip(1..).for_each(|(stamp, cpu)| *stamp = cpu);
            }
        }),
    ),
    rule(
        "cpu_util",
        "0",
        Wrong::Row(|row, _| {
            row.cpus.util_avg.fill(0);
            row.cpus.util_est.fill(0);
        }),
    ),
    rule("UTIL_EST", "off", Wrong::Feature(Feature::UTIL_EST)),
    rule("cpu_runnable", "0", Wrong::Row(|row, _| row.cpus.runnable_avg.fill(0))),
    rule(
        "cpu_util_without",
        "the task's own share stays in",
        Wrong::Row(|row, _| row.wakee.last_update_time_set = false),
    ),
    rule("task_util_est", "0", Wrong::Row(|row, _| row.wakee.util_est = 0)),
    rule("task_running_on_cpu", "an executing task counts as running", Wrong::Row(|row, _| row.wakee.on_rq = false)),
    rule(
        "ttwu_pending",
        "ignored by idle_cpu_without()",
        Wrong::Row(|row, _| {
            row.ttwu_pending_mask = CpuMask::new(row.cpus.nr_running.len() as u32);
        }),
    ),
];

/// The decisions that were lost.
#[derive(Clone, Debug, Default)]
pub struct Ablation {
    /// The number of stable rows by kernel.
    pub rows: BTreeMap<&'static str, u64>,
    /// The number of lost decisions, by the index of the rule in [`RULES`] and by kernel.
    pub lost: Vec<BTreeMap<&'static str, u64>>,
}

/// Makes each rule wrong in turn, on every stable row of `files`.
pub fn ablate(files: &[PathBuf], progress: &dyn Progress) -> (Ablation, Vec<FileOutcome<()>>) {
    let decider = Decider::as_recorded();
    let outcomes = read_files(files, &decider, progress, |state: &mut State, row, topo| state.row(row, topo));
    let mut total = Ablation { rows: BTreeMap::new(), lost: vec![BTreeMap::new(); RULES.len()] };
    let mut read = Vec::with_capacity(outcomes.len());
    for FileOutcome { path, value: state, error } in outcomes {
        if let Some(kernel) = state.kernel {
            *total.rows.entry(kernel).or_default() += state.rows;
            for (sum, lost) in total.lost.iter_mut().zip(&state.lost) {
                *sum.entry(kernel).or_default() += lost;
            }
        }
        read.push(FileOutcome { path, value: (), error });
    }
    (total, read)
}

/// The counts of one file, with the changed code and domains of each rule, which every row needs.
#[derive(Default)]
struct State {
    kernel: Option<&'static str>,
    rows: u64,
    lost: Vec<u64>,
    wrong: Vec<(Option<Code>, Option<SchedDomains>)>,
    select: Select,
    scratch: Row,
}

impl State {
    fn row(&mut self, row: &Row, topo: &TopoFile) {
        if !row.stable {
            return;
        }
        if self.kernel.is_none() {
            self.prepare(topo);
        }
        self.rows += 1;
        let right = Decider::as_recorded().decide(row, topo, &mut self.select, &mut ());
        for (index, rule) in RULES.iter().enumerate() {
            let (code, domains) = &self.wrong[index];
            let mut features = row.features.set;
            let mut changed = row;
            match rule.wrong {
                Wrong::Feature(feature) => features = features.with(feature, false),
                Wrong::Row(change) => {
                    self.scratch.clone_from(row);
                    change(&mut self.scratch, &right);
                    changed = &self.scratch;
                }
                Wrong::Code(_) | Wrong::Domains(_) => {}
            }
            let code = code.as_ref().unwrap_or(&topo.preset.code);
            let domains = domains.as_ref().unwrap_or(&topo.domains);
            let decision = decide(changed, topo, features, code, domains, &mut self.select);
            let differs = Differs::of(row, &decision);
            self.lost[index] += u64::from(differs.cpu || differs.recent_used_cpu);
        }
    }

    fn prepare(&mut self, topo: &TopoFile) {
        self.kernel = Some(topo.preset.name);
        self.lost = vec![0; RULES.len()];
        for rule in RULES {
            self.wrong.push(match rule.wrong {
                Wrong::Code(change) => {
                    let mut code = topo.preset.code;
                    change(&mut code);
                    (Some(code), None)
                }
                Wrong::Domains(change) => {
                    let mut domains = topo.domains.clone();
                    change(&mut domains);
                    (None, Some(domains))
                }
                Wrong::Feature(_) | Wrong::Row(_) => (None, None),
            });
        }
    }
}

fn decide(
    row: &Row,
    topo: &TopoFile,
    features: FeatureSet,
    code: &Code,
    domains: &SchedDomains,
    select: &mut Select,
) -> Decision {
    let rules = Rules::of(code, features, domains);
    let wakeup = row.wakeup();
    let view = Snapshot::new(row, topo, features);
    select_task_rq_fair(select, Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut ())
}
