//! The steps of a decision in words.

use super::busy;
use crate::numbers::{count, cpu_runs};
use wakelab_events::Row;
use wakelab_kernel::Feature;
use wakelab_sched::domain::{SchedDomain, SchedGroup};
use wakelab_sched::select::{
    Affine, AffineDetail, EnergyProbe, Event, Fit, GroupLoads, GroupStats, GroupType, Probe, Reason, Site, WakeFlags,
};
use wakelab_study::recordings::explain::Explained;

/// What separates the domains of the slow path in the sentence.
pub(super) const NEXT_DOMAIN: &str = "; domain ";

/// The parts of the sentence, but for its end.
pub(super) fn parts(explained: &Explained<'_>) -> Vec<String> {
    let mut words = Words { explained, parts: Vec::new(), probed: Vec::new(), cores: false, level: None };
    words.start();
    for event in explained.steps.iter() {
        words.step(event);
    }
    words.end();
    words.parts
}

struct Words<'a> {
    explained: &'a Explained<'a>,
    parts: Vec<String>,
    /// CPUs that the scan has probed and not taken, and that no part of the sentence names yet.
    probed: Vec<u32>,
    /// Whether the scan searches for an idle core.
    cores: bool,
    level: Option<(usize, u32)>,
}

impl<'a> Words<'a> {
    fn row(&self) -> &'a Row {
        &self.explained.row
    }

    fn say(&mut self, part: String) {
        self.parts.push(part);
    }

    /// Why the target is what it is, where wake_affine() was not asked.
    fn start(&mut self) {
        let row = self.row();
        if !row.wake_flags.contains(WakeFlags::TTWU) {
            return;
        }
        let (this, prev) = (row.waker.cpu, row.wakee.prev_cpu);
        let asked_affine = self.explained.steps.iter().any(|step| matches!(step, Event::Affine { .. }));
        if asked_affine || matches!(self.explained.decision.reason, Reason::CurrentCpu) {
            return;
        }
        let wide = self.explained.steps.iter().any(|step| matches!(step, Event::WakeWide { wide: true, .. }));
        if wide {
            return;
        }
        let allowed = row.wakee.affinity.test(this);
        if this == prev && allowed {
            self.say(format!("waker and prev are both cpu {prev}, so target {prev}"));
        } else if !allowed {
            self.say(format!("cpu {this} is not allowed, so target prev {prev}"));
        } else {
            self.say(format!("no domain holds cpu {this} and prev {prev}, so target prev {prev}"));
        }
    }

    fn step(&mut self, event: &Event) {
        match *event {
            Event::WakeWide { waker_flips, wakee_flips, llc_size, wide: true } => {
                let prev = self.row().wakee.prev_cpu;
                self.say(format!(
                    "wide: flips {waker_flips} and {wakee_flips} against {llc_size} CPUs, so target prev {prev}"
                ));
            }
            Event::WakeWide { .. } => {}
            Event::Affine { detail, target } => {
                let part = affine(self.row(), detail, target);
                self.say(part);
            }
            Event::Probe(look) => self.look(look),
            Event::NotAllowed(_, cpu) => self.say(format!("but {cpu} is not allowed")),
            Event::Far(_, cpu) => self.say(format!("but {cpu} is outside the cluster, kept for the end")),
            Event::Fit { site, cpu, fit, core_busy } => self.fit(site, cpu, fit, core_busy),
            Event::SelectIdleCapacity { cores } => self.cores = cores,
            Event::Kthread { taken: true } => {
                self.say("woken by a per-CPU kthread for whose CPU it queued work".into())
            }
            Event::Kthread { taken: false } => {}
            Event::Limit { by, nr } => self.limit(by, nr),
            Event::Taken { by, cpu } => self.say(format!("{by} takes {cpu}")),
            Event::Energy(look) => self.energy(&look),
            Event::Oracle(Some(cpu)) => self.say(format!("the oracle knows {cpu} idle")),
            Event::Oracle(None) => self.say("the oracle knows no idle CPU".into()),
            Event::SelectIdleCpu { cores } => self.cores = cores,
            Event::IdleCores(_) | Event::SelectIdleSmt { .. } => {}
            Event::Domain { level, cpu } => {
                self.flush_scan();
                self.level = Some((level, cpu));
                self.say(domain(self.explained, level, cpu));
            }
            Event::Group { first, local, stats } => {
                let part = group(self.explained, self.level, first, local, &stats);
                self.say(part);
            }
            Event::GroupLoads { first, local, loads } => {
                let part = group_loads(self.explained, self.level, first, local, &loads);
                self.say(part);
            }
            Event::GroupChosen(chosen) => {
                let part = group_chosen(self.explained, self.level, chosen);
                self.say(part);
            }
            Event::CpuChosen(cpu) => {
                self.flush_scan();
                self.say(format!("its idlest CPU is {cpu}"));
            }
        }
    }

    fn look(&mut self, look: Probe) {
        let row = self.row();
        let cpu = look.cpu;
        let taken = look.idle || look.sched_idle == Some(true);
        let state = if look.idle { "idle".to_owned() } else { busy(row, cpu) };
        let part = match look.site {
            Site::Target => format!("{cpu} {state}"),
            Site::Prev => format!("prev {cpu} {state}"),
            Site::Recent => format!("recent {cpu} {state}"),
            Site::Smt => format!("sibling {cpu} {state}"),
            Site::Core | Site::Scan | Site::Capacity | Site::Group => {
                // Of a group all CPUs are probed, idle or not.
                if taken && !matches!(look.site, Site::Core | Site::Group) {
                    self.flush_scan();
                    let part = format!("{cpu} {state}");
                    self.say(part);
                } else {
                    self.probed.push(cpu);
                }
                return;
            }
        };
        self.say(part);
    }

    /// How the task fits an idle CPU, and whether the core is what was wanted.
    fn fit(&mut self, site: Site, cpu: u32, fit: Fit, core_busy: bool) {
        let part = match (fit, core_busy) {
            (Fit::Fits, true) => format!("but a sibling of {cpu} is busy"),
            (Fit::Fits, false) if site == Site::Capacity => format!("the task fits {cpu}"),
            (Fit::Fits, false) => return,
            (Fit::MissesMinimum, _) => format!("but {cpu} is too small for uclamp_min"),
            (Fit::Misses, _) => format!("but {cpu} is too small"),
        };
        self.say(part);
    }

    fn limit(&mut self, by: Feature, nr: i32) {
        let part = match (by, nr) {
            (Feature::SIS_UTIL, 1) => format!("nr_idle_scan 0: LLC {}, no search", self.llc_util()),
            (Feature::SIS_UTIL, nr) => format!("nr_idle_scan {}", nr - 1),
            (by, nr) => format!("{by} allows {} CPUs", nr.saturating_sub(1)),
        };
        self.say(part);
    }

    /// How busy the target's cache is. The kernel's own sum is of the last periodic balance; this is of the moment.
    fn llc_util(&self) -> String {
        let Explained { row, topo, decision, .. } = self.explained;
        let Some(sd) = topo.domains.sd_llc(decision.target).filter(|_| !row.partial) else {
            return "overloaded".to_owned();
        };
        let util: u64 = sd.span.iter().map(|cpu| row.cpus.util_avg[cpu as usize]).sum();
        format!("at {} % util", 100 * util / (u64::from(sd.span_weight) * 1024).max(1))
    }

    /// Adds what the scan probed and did not take, in the order of the scan.
    fn flush_scan(&mut self) {
        if self.probed.is_empty() {
            return;
        }
        let probed = std::mem::take(&mut self.probed);
        let row = self.row();
        let state = |cpu: u32| match (row.idle_mask.test(cpu), row.wakee.affinity.test(cpu)) {
            (false, _) => "busy",
            (true, true) => "idle",
            (true, false) => "idle but not allowed",
        };
        let said: Vec<String> = probed
            .chunk_by(|&a, &b| state(a) == state(b))
            .map(|run| format!("{} {}", cpu_runs(run.iter().copied()), state(run[0])))
            .collect();
        let what = if std::mem::take(&mut self.cores) { "searching for an idle core: " } else { "" };
        self.say(format!("{what}{}", said.join(", ")));
    }

    fn energy(&mut self, look: &EnergyProbe) {
        let EnergyProbe { domain, base, prev, other } = *look;
        let candidates = prev.map(|energy| (self.row().wakee.prev_cpu, energy)).into_iter().chain(other);
        let with: Vec<_> = candidates.map(|(cpu, energy)| format!("{energy} with it on {cpu}")).collect();
        self.say(format!("the domain of {domain} would spend {base}, {}", with.join(", ")));
    }

    fn end(&mut self) {
        self.flush_scan();
        let decision = self.explained.decision;
        let target = decision.target;
        match decision.reason {
            Reason::Core => self.say(format!("the whole core of {} is idle", decision.cpu)),
            Reason::CoreCpu => {
                self.say(format!("no core is idle as a whole, {} is the first idle CPU met", decision.cpu))
            }
            Reason::Energy => self.say(format!("{} costs least", decision.cpu)),
            Reason::Capacity => self.say(format!("{} is the idle CPU that fits best", decision.cpu)),
            Reason::Limit => {
                let of_scan =
                    |step: &&Event| matches!(step, Event::Probe(Probe { site: Site::Scan | Site::Capacity, .. }));
                let probes = self.explained.steps.iter().filter(of_scan).count() as u64;
                self.say(format!("limit used up after {}, so target {target}", count(probes, "probe")));
            }
            Reason::None => self.say("the scan came to its end".into()),
            Reason::CurrentCpu => self.say("WF_CURRENT_CPU asks for the waking CPU".into()),
            Reason::Stay => self.say("no domain balances it, so it stays".into()),
            _ => {}
        }
    }
}

/// wake_affine()'s choice.
fn affine(row: &Row, detail: AffineDetail, target: u32) -> String {
    let (this, prev) = (row.waker.cpu, row.wakee.prev_cpu);
    let why = match (detail.rule, detail.loads) {
        (Affine::WakerIdle, _) => format!("interrupt on idle cpu {this}, which shares a cache with busy prev {prev}"),
        (Affine::BothIdle, _) => format!("cpu {this} and prev {prev} are idle and share a cache"),
        (Affine::Sync, _) => format!("sync: waker is alone on cpu {this}"),
        (Affine::Short, _) => format!("the only task of waking cpu {} is short", row.waker.cpu),
        (Affine::PrevIdle, _) => format!("prev {prev} is idle"),
        (Affine::Weight | Affine::Prev, Some(effective)) => loads(row, detail.rule, effective),
        _ => "no rule of wake_affine() prefers the waking CPU".to_owned(),
    };
    format!("{why}, so target {target}")
}

/// The comparison of wake_affine_weight(), with what went into it.
fn loads(row: &Row, rule: Affine, (this_eff, prev_eff): (i64, i64)) -> String {
    let (this, prev) = (row.waker.cpu, row.wakee.prev_cpu);
    let is = if rule == Affine::Weight { "is below" } else { "is not below" };
    let waker = if row.wakeup().sync() { format!(", waker's {}", row.waker.h_load) } else { String::new() };
    let group = match decided_by_group(row, (this_eff, prev_eff)) {
        Some(by_own) => {
            let target = if by_own { format!("cpu {this}") } else { format!("prev {prev}") };
            format!(
                "; the weight of a control group decided: of the wakee's load {} it leaves {}, without it the \
                 target is {target}",
                row.wakee.load_avg, row.wakee.h_load
            )
        }
        None => String::new(),
    };
    format!(
        "effective load {this_eff} of cpu {this} {is} {prev_eff} of prev {prev} (loads {} and {}, wakee's \
         {}{waker}){group}",
        row.cpus.load_avg[this as usize], row.cpus.load_avg[prev as usize], row.wakee.h_load
    )
}

/// Whether the comparison of wake_affine_weight() had come out for the waking CPU with the tasks' own loads, if it had
/// come out otherwise than with what their control groups leave of them.
///
/// Capacities and bias are factors of the effective loads, and found by dividing those. Without groups `task_h_load()`
/// is the load up to what has changed within a jiffy, so that groups are looked for where one leaves half or less.
fn decided_by_group(row: &Row, (this_eff, prev_eff): (i64, i64)) -> Option<bool> {
    let (wakee, waker) = (&row.wakee, &row.waker);
    let halved = |load: u64, h_load: u64| load > 2 && 2 * h_load <= load;
    let sync = row.wakeup().sync();
    if !(halved(wakee.load_avg, wakee.h_load) || sync && halved(waker.load_avg, waker.h_load)) {
        return None;
    }
    let load = |cpu: u32| row.cpus.load_avg[cpu as usize] as i64;
    let (this, prev) = (load(row.waker.cpu), load(wakee.prev_cpu));
    let bias = i64::from(sync);
    let of_waker = |load: u64| if sync { load as i64 } else { 0 };
    let factor = |eff: i64, load: i64| if load == 0 { None } else { eff.checked_div(load).filter(|f| f * load == eff) };
    let this_factor = factor(this_eff, this - of_waker(waker.h_load) + wakee.h_load as i64)?;
    let prev_factor = factor(prev_eff - bias, prev - wakee.h_load as i64)?;
    let own = wakee.load_avg as i64;
    let by_own = of_waker(waker.load_avg) > this
        || this_factor * (this - of_waker(waker.load_avg) + own) < prev_factor * (prev - own) + bias;
    (by_own != (this_eff < prev_eff)).then_some(by_own)
}

fn sd<'a>(explained: &'a Explained<'_>, level: usize, cpu: u32) -> &'a SchedDomain {
    &explained.topo.domains.domains[cpu as usize][level]
}

fn group_of<'a>(explained: &'a Explained<'_>, at: Option<(usize, u32)>, first: u32) -> Option<&'a SchedGroup> {
    let (level, cpu) = at?;
    sd(explained, level, cpu).groups.iter().find(|group| group.span.first() == Some(first))
}

fn span(explained: &Explained<'_>, at: Option<(usize, u32)>, first: u32) -> String {
    group_of(explained, at, first).map_or_else(|| first.to_string(), |group| group.span.to_string())
}

/// The domain that the slow path compares next.
fn domain(explained: &Explained<'_>, level: usize, cpu: u32) -> String {
    let sd = sd(explained, level, cpu);
    let pkg = explained.topo.preset.domains.pkg_name;
    let name = sd.level.name(pkg);
    format!("{}{name} {} from cpu {cpu}", &NEXT_DOMAIN[2..], sd.span)
}

/// A group with its statistics.
fn group(explained: &Explained<'_>, at: Option<(usize, u32)>, first: u32, local: bool, stats: &GroupStats) -> String {
    let measure = match stats.group_type {
        GroupType::HasSpare => format!("{} idle, util {}", stats.idle_cpus, stats.group_util),
        GroupType::MisfitTask => format!("too small for it, largest CPU {}", stats.group_max_capacity),
        _ => format!("{} running, load {} per capacity", stats.sum_nr_running, stats.avg_load),
    };
    let name = if local { "local group" } else { "group" };
    format!("{name} {} {} ({measure})", span(explained, at, first), stats.group_type.name())
}

/// A group with its loads, up to 5.4.
fn group_loads(
    explained: &Explained<'_>,
    at: Option<(usize, u32)>,
    first: u32,
    local: bool,
    loads: &GroupLoads,
) -> String {
    let name = if local { "local group" } else { "group" };
    format!(
        "{name} {} (load {} per capacity, {} with sleepers, {} spare)",
        span(explained, at, first),
        loads.runnable_load,
        loads.avg_load,
        loads.max_spare_cap
    )
}

/// The group that was chosen.
fn group_chosen(explained: &Explained<'_>, at: Option<(usize, u32)>, chosen: Option<u32>) -> String {
    match chosen {
        None => "stays in the local group".to_owned(),
        Some(first) => format!("goes to {}", span(explained, at, first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wakee of load 800, of which its group leaves 100, between CPUs of these loads.
    fn row(this: u64, prev: u64) -> Row {
        let mut row = Row::new();
        row.waker.cpu = 0;
        row.wakee.prev_cpu = 1;
        (row.wakee.load_avg, row.wakee.h_load) = (800, 100);
        row.cpus.load_avg = vec![this, prev];
        row
    }

    /// The effective loads of a machine with CPUs of capacity 1024 and 117 per cent of imbalance.
    fn effective(row: &Row) -> (i64, i64) {
        let [this, prev] = [0, 1].map(|cpu| row.cpus.load_avg[cpu] as i64);
        let h_load = row.wakee.h_load as i64;
        ((this + h_load) * 100 * 1024, (prev - h_load) * 108 * 1024)
    }

    #[test]
    fn a_group_decides_where_its_tasks_own_load_would_have_decided_otherwise() {
        // 300 + 100 is below 500 - 100, times 1.08; 300 + 800 is not.
        let decided = row(300, 500);
        assert_eq!(decided_by_group(&decided, effective(&decided)), Some(false));
        let said = loads(&decided, Affine::Weight, effective(&decided));
        assert!(said.ends_with("of the wakee's load 800 it leaves 100, without it the target is prev 1"), "{said}");
        // With both loads the waking CPU has less.
        let same = row(100, 3000);
        assert_eq!(decided_by_group(&same, effective(&same)), None);
        // A task of the root, whose load has changed a little within the jiffy.
        let mut root = row(300, 500);
        root.wakee.load_avg = 130;
        assert_eq!(decided_by_group(&root, effective(&root)), None);
    }

    #[test]
    fn nothing_is_said_of_groups_where_the_task_s_own_load_is_not_known() {
        let mut simulated = row(300, 500);
        simulated.wakee.load_avg = 0;
        assert_eq!(decided_by_group(&simulated, effective(&simulated)), None);
    }
}
