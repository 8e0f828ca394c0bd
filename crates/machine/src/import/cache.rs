//! Caches: `cpu*/cache/index*`.

use super::sys::{Groups, Sys, check};
use super::tree::{SAVE, Tree, shown};
use crate::{Cache, Origin};
use std::collections::BTreeMap;
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// The kind of a cache, lowest level first: `L1d` before `L1i` before `L2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    level: u8,
    holds: Holds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    Data,
    Instruction,
    Unified,
}

impl Kind {
    /// `L1d`.
    pub(super) fn name(self) -> String {
        let suffix = match self.holds {
            Holds::Data => "d",
            Holds::Instruction => "i",
            Holds::Unified => "",
        };
        format!("L{}{suffix}", self.level)
    }
}

/// One cache as one CPU describes it.
#[derive(Clone, Debug)]
pub(super) struct One {
    index: u32,
    pub(super) size_kib: Option<u64>,
    id: Option<i64>,
    pub(super) cpus: CpuMask,
}

/// All caches, by CPU.
#[derive(Clone, Debug)]
pub(super) struct Caches(pub(super) Vec<BTreeMap<Kind, One>>);

/// Reads all caches and checks that the CPUs agree.
pub(super) fn read(sys: &Sys<'_>) -> Result<Caches, InputError> {
    let caches = Caches(sys.each(|cpu| of_cpu(sys, cpu))?);
    // A CPU without caches among others that have some: its files were not saved.
    if let Some(cpu) = caches.0.iter().position(BTreeMap::is_empty).filter(|_| !caches.is_empty()) {
        let path = sys.path(cpu as Cpu, "cache");
        return Err(sys.tree.error(&path, "the CPU has no caches, but others have; expected the same").with_hint(SAVE));
    }
    let mut kinds: Vec<Kind> = caches.0.iter().flat_map(|of| of.keys().copied()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        agree(sys, &caches, kind)?;
    }
    Ok(caches)
}

fn of_cpu(sys: &Sys<'_>, cpu: Cpu) -> Result<BTreeMap<Kind, One>, InputError> {
    let tree = sys.tree;
    let mut caches = BTreeMap::new();
    for index in tree.numbered(&sys.path(cpu, "cache"), "index")? {
        let file = |name: &str| path(sys, cpu, index, name);
        let level = tree.need(&file("level"), "the cache's level", |tree, path| tree.number(path, &(1..=9)))? as u8;
        let text = tree.need(&file("type"), "Data, Instruction or Unified", Tree::text)?;
        let holds = match text.as_str() {
            "Data" => Holds::Data,
            "Instruction" => Holds::Instruction,
            "Unified" => Holds::Unified,
            _ => {
                let what = format!("expected Data, Instruction or Unified, found {}", shown(&text));
                return Err(tree.error(&file("type"), what).with_hint(SAVE));
            }
        };
        let cpus = tree.need(&file("shared_cpu_list"), "the CPUs that share it", |_, path| sys.mask(path))?;
        let one = One { index, size_kib: size(tree, &file("size"))?, id: tree.number(&file("id"), &ID)?, cpus };
        let kind = Kind { level, holds };
        if let Some(before) = caches.insert(kind, one) {
            let what =
                format!("this is {}, the same as index{}; expected another level or type", kind.name(), before.index);
            return Err(tree.contradiction(&file("level"), what));
        }
    }
    Ok(caches)
}

/// `cache/index*/id` is 32 bits wide on x86, 64 with device trees.
const ID: std::ops::RangeInclusive<i64> = i64::MIN..=i64::MAX;

fn path(sys: &Sys<'_>, cpu: Cpu, index: u32, name: &str) -> String {
    sys.path(cpu, &format!("cache/index{index}/{name}"))
}

/// The KiB of `48K`. Returns `None` if the firmware does not report them.
fn size(tree: Tree<'_>, path: &str) -> Result<Option<u64>, InputError> {
    let Some(text) = tree.text(path)? else { return Ok(None) };
    let number = text.strip_suffix('K').and_then(|number| number.parse::<u64>().ok()).filter(|&kib| kib <= 1 << 30);
    match number {
        Some(0) => Ok(None),
        Some(kib) => Ok(Some(kib)),
        None => Err(tree.error(path, format!("expected KiB such as 48K, found {}", shown(&text))).with_hint(SAVE)),
    }
}

/// Checks that all CPUs that share a cache describe it alike.
fn agree(sys: &Sys<'_>, caches: &Caches, kind: Kind) -> Result<(), InputError> {
    let own = |cpu: Cpu| CpuMask::from_cpus(sys.len(), [cpu]);
    let file = |cpu: Cpu| {
        let one = caches.0[cpu as usize].get(&kind);
        one.map_or_else(|| sys.path(cpu, "cache"), |one| path(sys, cpu, one.index, "shared_cpu_list"))
    };
    // A CPU without such a cache counts as its only user, so that it is in no other CPU's list.
    let groups: Groups =
        (0..).zip(&caches.0).map(|(cpu, of)| of.get(&kind).map_or_else(|| own(cpu), |one| one.cpus.clone())).collect();
    check(sys, &groups, file)?;
    for (cpu, of) in (0..).zip(&caches.0) {
        let Some(one) = of.get(&kind) else { continue };
        let first = one.cpus.first().unwrap_or(cpu);
        let Some(other) = caches.0[first as usize].get(&kind) else { continue };
        let name = match () {
            () if one.size_kib != other.size_kib => "size",
            () if one.id != other.id => "id",
            () => continue,
        };
        let theirs = path(sys, first, other.index, name);
        let what = format!("differs from {theirs}; expected the same, because the CPUs share this {}", kind.name());
        return Err(sys.tree.contradiction(&path(sys, cpu, one.index, name), what));
    }
    Ok(())
}

impl Caches {
    /// Returns one entry for all CPUs whose caches of a kind are alike.
    pub(super) fn rows(&self, sys: &Sys<'_>) -> Vec<Cache> {
        let mut rows: BTreeMap<(Kind, u32, u64, u32), Vec<Cpu>> = BTreeMap::new();
        let mut first: BTreeMap<(Kind, u64, u32), u32> = BTreeMap::new();
        let mut unsized_kinds: Vec<Kind> = Vec::new();
        for (cpu, of) in (0..).zip(&self.0) {
            for (&kind, one) in of {
                let Some(kib) = one.size_kib else {
                    unsized_kinds.push(kind);
                    continue;
                };
                let alike = (kind, kib, one.cpus.weight());
                let order = *first.entry(alike).or_insert(cpu);
                rows.entry((kind, order, kib, alike.2)).or_default().push(cpu);
            }
        }
        unsized_kinds.sort_unstable();
        unsized_kinds.dedup();
        for kind in unsized_kinds {
            sys.note(format!("{} has no cpu*/cache/index*/size and is left out of the caches", kind.name()));
        }
        let row = |((kind, _, size_kib, shared_by), cpus): ((Kind, u32, u64, u32), Vec<Cpu>)| Cache {
            name: kind.name(),
            size_kib,
            shared_by,
            cpus: (cpus.len() < sys.ids.len()).then(|| CpuMask::from_cpus(sys.len(), cpus)),
            origin: Origin::Source("sysfs: cpu*/cache/index*/{level,type,size,shared_cpu_list}".to_owned()),
        };
        rows.into_iter().map(row).collect()
    }

    /// Returns whether no caches are known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeMap::is_empty)
    }

    /// Returns, by CPU, the CPUs that share its last cache for data.
    pub(super) fn last(&self) -> Groups {
        // A CPU with only instruction caches would be odd, and shares no LLC.
        let own = |cpu| CpuMask::from_cpus(self.0.len() as u32, [cpu]);
        (0..).zip(&self.0).map(|(cpu, of)| last(of).map_or_else(|| own(cpu), |one| one.cpus.clone())).collect()
    }

    /// Returns, by CPU, the CPUs that share its cache for data of a level. `None` if a CPU has none.
    pub(super) fn of_level(&self, level: u8) -> Option<Groups> {
        let one = |of: &BTreeMap<Kind, One>| {
            let mut kinds = of.iter().filter(|(kind, _)| kind.level == level && kind.holds != Holds::Instruction);
            kinds.next().map(|(_, one)| one.cpus.clone())
        };
        self.0.iter().map(one).collect()
    }

    /// Returns the file that lists the CPUs that share a CPU's last cache.
    pub(super) fn last_file(&self, sys: &Sys<'_>, cpu: Cpu) -> String {
        last(&self.0[cpu as usize])
            .map_or_else(|| sys.path(cpu, "cache"), |one| path(sys, cpu, one.index, "shared_cpu_list"))
    }
}

/// The last cache of one CPU that holds data.
fn last(of: &BTreeMap<Kind, One>) -> Option<&One> {
    of.iter().rfind(|(kind, _)| kind.holds != Holds::Instruction).map(|(_, one)| one)
}
