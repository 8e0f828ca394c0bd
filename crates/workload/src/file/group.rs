//! `[[group]]`: control groups of the CPU controller.

use super::step::uclamp;
use super::task::affinity;
use super::{name, no_name_twice};
use crate::{CpuMax, Group};
use wakelab_input::{InputError, Table, parse_duration};

pub(super) const KEYS: [&str; 9] =
    ["name", "parent", "weight", "idle", "max", "burst", "cpus", "uclamp_min", "uclamp_max"];

/// Reads the groups of a file. Those above come before those in them.
pub(super) fn read_all(tables: &[Table<'_>]) -> Result<Vec<Group>, InputError> {
    no_name_twice(tables)?;
    let mut groups: Vec<Group> = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let own = name(table)?;
        if let Some(parent) = table.text("parent")? {
            let later = |table: &Table<'_>| matches!(name(table), Ok(name) if name == parent);
            if parent == own {
                return Err(table.wrong(
                    "parent",
                    format!("the group {own:?} is its own parent; expected another group, or no parent"),
                ));
            }
            if tables[at + 1..].iter().any(later) {
                let what = format!("the parent {parent:?} comes later in the file; put it before this group");
                return Err(table.wrong("parent", what));
            }
        }
        let idle = table.flag("idle")?.unwrap_or(false);
        if idle && table.get("weight").is_some() {
            let what = "a group with idle = true ignores its weight; give `idle` or `weight`, not both";
            return Err(table.wrong("weight", what));
        }
        let parent = number(table, "parent", &groups)?;
        let [uclamp_min, uclamp_max] = uclamp(table)?;
        groups.push(Group {
            name: own.to_owned(),
            parent,
            weight: table.number("weight", &(1..=10_000))?.unwrap_or(100) as u32,
            idle,
            max: cpu_max(table)?,
            uclamp_min,
            uclamp_max,
            cpus: cpuset(table, groups.get((parent as usize).wrapping_sub(1)))?,
            autogroup: false,
        });
    }
    Ok(groups)
}

/// The least quota and period, ns (`min_cfs_quota_period`).
const QUOTA_MIN: u64 = 1_000_000;
/// The longest period, ns (`max_cfs_quota_period`).
const PERIOD_MAX: u64 = 1_000_000_000;
/// The longest quota, ns (`max_bw_runtime_us`, `max_cfs_runtime`: 1 << 44 us; here what a run can take).
const QUOTA_MAX: u64 = 1 << 50;
/// The period where none is given, ns (`default_cfs_period()`).
const PERIOD: u64 = 100_000_000;

/// `max`, as "QUOTA" or "QUOTA PERIOD", with `burst`. `tg_set_cfs_bandwidth()` refuses what is refused here.
pub(super) fn cpu_max(table: &Table<'_>) -> Result<Option<CpuMax>, InputError> {
    let burst = table.duration("burst")?;
    let Some(text) = table.any_text("max")? else {
        return match burst {
            Some(_) => Err(table.wrong("burst", "`burst` needs a quota; set `max` too")),
            None => Ok(None),
        };
    };
    let expected = "expected \"QUOTA\" or \"QUOTA PERIOD\", such as \"20ms 100ms\", or no `max` for no limit";
    let mut words = text.split_whitespace();
    let (Some(quota), period, None) = (words.next(), words.next(), words.next()) else {
        return Err(table.wrong("max", format!("{text:?}: {expected}")));
    };
    let read = |word: &str| {
        parse_duration(word).map_err(|what| table.wrong("max", format!("{text:?}: {word:?}: {what}; {expected}")))
    };
    let (quota, period) = (read(quota)?, period.map_or(Ok(PERIOD), read)?);
    if !(QUOTA_MIN..=QUOTA_MAX).contains(&quota) {
        let what = format!("{text:?}: the kernel refuses a quota below 1ms; {expected}");
        return Err(table.wrong("max", what));
    }
    if !(QUOTA_MIN..=PERIOD_MAX).contains(&period) {
        let what = format!("{text:?}: the kernel refuses a period below 1ms or above 1s; {expected}");
        return Err(table.wrong("max", what));
    }
    let burst = burst.unwrap_or(0);
    if burst > quota {
        return Err(table.wrong("burst", "the kernel refuses a burst above the quota; expected at most the quota"));
    }
    Ok(Some(CpuMax { quota, period, burst }))
}

/// `cpus`, within those of the group above.
fn cpuset(table: &Table<'_>, above: Option<&Group>) -> Result<Option<Vec<u32>>, InputError> {
    let Some(mut cpus) = affinity(table)? else { return Ok(above.and_then(|above| above.cpus.clone())) };
    let (name, of_above) = above.map_or(("", None), |above| (above.name.as_str(), above.cpus.as_ref()));
    cpus.retain(|cpu| of_above.is_none_or(|above| above.contains(cpu)));
    if cpus.is_empty() {
        return Err(table.wrong(
            "cpus",
            format!("none of these CPUs belongs to its parent {name:?}; expected at least one that does"),
        ));
    }
    Ok(Some(cpus))
}

/// The affinity of a task within the cpuset of its group.
pub(super) fn within_cpuset(
    table: &Table<'_>,
    group: Option<&Group>,
    affinity: Option<Vec<u32>>,
) -> Result<Option<Vec<u32>>, InputError> {
    let Some((name, cpuset)) = group.and_then(|group| Some((&group.name, group.cpus.as_ref()?))) else {
        return Ok(affinity);
    };
    let Some(mut cpus) = affinity else { return Ok(Some(cpuset.clone())) };
    cpus.retain(|cpu| cpuset.contains(cpu));
    if cpus.is_empty() {
        return Err(table.wrong(
            "cpus",
            format!("none of these CPUs belongs to its group {name:?}; expected at least one that does"),
        ));
    }
    Ok(Some(cpus))
}

/// The number of the group that a key names, from 1; 0 without the key.
pub(super) fn number(table: &Table<'_>, key: &str, groups: &[Group]) -> Result<u32, InputError> {
    let Some(group) = table.text(key)? else { return Ok(0) };
    let found = groups.iter().zip(1..).find(|(known, _)| known.name == group);
    found.map(|(_, number)| number).ok_or_else(|| {
        let names: Vec<String> = groups.iter().map(|known| format!("{:?}", known.name)).collect();
        let expected = match names.is_empty() {
            true => "a [[group]] of that name, but the file has no groups".to_owned(),
            false => format!("one of {}", names.join(", ")),
        };
        table.wrong(key, format!("there is no group {group:?}; expected {expected}"))
    })
}
