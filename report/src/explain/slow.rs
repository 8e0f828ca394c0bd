//! The slow path's steps in words.

use wakelab_sched::domain::{PkgName, SchedDomain, SchedGroup};
use wakelab_sched::select::slow::{GroupLoads, GroupStats, GroupType};
use wakelab_study::explain::Explained;

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

/// The domain that is looked at next.
pub(super) fn domain(explained: &Explained<'_>, level: usize, cpu: u32) -> String {
    let sd = sd(explained, level, cpu);
    let pkg = if explained.topo.preset.package_level == "DIE" { PkgName::Die } else { PkgName::Pkg };
    let name = sd.level.name(pkg);
    format!("{}{name} {} from cpu {cpu}", &super::steps::NEXT_DOMAIN[2..], sd.span)
}

/// A group with its statistics.
pub(super) fn group(
    explained: &Explained<'_>,
    at: Option<(usize, u32)>,
    first: u32,
    local: bool,
    stats: &GroupStats,
) -> String {
    let measure = match stats.group_type {
        GroupType::HasSpare => format!("{} idle, util {}", stats.idle_cpus, stats.group_util),
        GroupType::MisfitTask => format!("too small for it, largest CPU {}", stats.group_max_capacity),
        _ => format!("{} running, load {} per capacity", stats.sum_nr_running, stats.avg_load),
    };
    let name = if local { "local group" } else { "group" };
    format!("{name} {} {} ({measure})", span(explained, at, first), stats.group_type.name())
}

/// A group with its loads, up to 5.4.
pub(super) fn group_loads(
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
pub(super) fn group_chosen(explained: &Explained<'_>, at: Option<(usize, u32)>, chosen: Option<u32>) -> String {
    match chosen {
        None => "stays in the local group".to_owned(),
        Some(first) => format!("goes to {}", span(explained, at, first)),
    }
}
