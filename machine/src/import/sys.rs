//! The CPUs that are imported, the files that list them, and what CPUs have in common.

use super::tree::{CPU, SAVE, Tree};
use wakelab_input::{InputError, cpulist_text};
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// A tree and those of its CPUs that are online. A CPU's place in the list is its number in the machine: 0 upwards, in
/// the kernel's order.
#[derive(Clone, Debug)]
pub(super) struct Sys<'a> {
    pub(super) tree: Tree<'a>,
    /// The kernel's numbers, lowest first.
    pub(super) ids: Vec<Cpu>,
    possible: Option<Vec<Cpu>>,
}

impl<'a> Sys<'a> {
    /// Reads which CPUs are online.
    pub(super) fn read(tree: Tree<'a>) -> Result<Self, InputError> {
        if !tree.has(CPU) {
            let error = tree.error(CPU, "the folder is missing; expected a /sys tree, whose CPUs are in this folder");
            return Err(match tree.has(&format!("sys/{CPU}")) {
                true => error.with_hint(format!("`--sysfs {}` has one", tree.name("sys"))),
                false => error.with_hint(SAVE),
            });
        }
        let online = format!("{CPU}/online");
        let ids = tree.need(&online, "the list of CPUs that are online, such as 0-7", Tree::cpus)?;
        if ids.is_empty() {
            return Err(tree.error(&online, "expected at least one CPU, found an empty list").with_hint(SAVE));
        }
        let possible = tree.cpus(&format!("{CPU}/possible"))?;
        let sys = Sys { tree, ids, possible };
        sys.check_possible(&online, &sys.ids)?;
        Ok(sys)
    }

    /// Returns how many CPUs are imported.
    pub(super) fn len(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Returns the CPUs that could be online but are not, as a list; empty if there are none.
    pub(super) fn offline(&self) -> String {
        let possible = self.possible.iter().flatten();
        list(possible.copied().filter(|cpu| self.ids.binary_search(cpu).is_err()))
    }

    /// Returns the path of a CPU's file. `cpu` is its number in the machine.
    pub(super) fn path(&self, cpu: Cpu, file: &str) -> String {
        format!("{CPU}/cpu{}/{file}", self.ids[cpu as usize])
    }

    /// Returns the CPUs that a file lists, without those that are offline. Returns `None` if there is no such file.
    pub(super) fn mask(&self, path: &str) -> Result<Option<CpuMask>, InputError> {
        let Some(cpus) = self.tree.cpus(path)? else { return Ok(None) };
        self.check_possible(path, &cpus)?;
        let online = cpus.iter().filter_map(|cpu| self.ids.binary_search(cpu).ok());
        Ok(Some(CpuMask::from_cpus(self.len(), online.map(|index| index as Cpu))))
    }

    /// Returns the kernel's numbers of these CPUs, as a list.
    pub(super) fn names(&self, cpus: &CpuMask) -> String {
        list(cpus.iter().map(|cpu| self.ids[cpu as usize]))
    }

    /// Calls `f` for each CPU, by its number in the machine.
    pub(super) fn each<T>(&self, f: impl FnMut(Cpu) -> Result<T, InputError>) -> Result<Vec<T>, InputError> {
        (0..self.len()).map(f).collect()
    }

    /// Returns, by CPU, the CPUs that have the same value.
    pub(super) fn same<T: PartialEq>(&self, values: &[T]) -> Vec<CpuMask> {
        let mut masks: Vec<CpuMask> = Vec::new();
        for (cpu, value) in values.iter().enumerate() {
            let mask = match values[..cpu].iter().position(|before| before == value) {
                Some(before) => masks[before].clone(),
                None => CpuMask::from_cpus(self.len(), (0..self.len()).filter(|&cpu| values[cpu as usize] == *value)),
            };
            masks.push(mask);
        }
        masks
    }

    fn check_possible(&self, path: &str, cpus: &[Cpu]) -> Result<(), InputError> {
        let Some(possible) = &self.possible else { return Ok(()) };
        let Some(cpu) = cpus.iter().find(|cpu| possible.binary_search(cpu).is_err()) else { return Ok(()) };
        let what = format!("names CPU {cpu}; expected CPUs of {CPU}/possible, {}", list(possible.iter().copied()));
        Err(self.tree.contradiction(path, what))
    }
}

/// Ascending numbers as a list.
pub(super) fn list(numbers: impl IntoIterator<Item = u32>) -> String {
    cpulist_text(&numbers.into_iter().collect::<Vec<_>>())
}

/// By CPU: the CPUs that have something in common with it, as each of them lists it.
pub(super) type Groups = Vec<CpuMask>;

/// Checks that each CPU is in its own list, and that all CPUs of a list have the same list.
pub(super) fn check(sys: &Sys<'_>, groups: &Groups, file: impl Fn(Cpu) -> String) -> Result<(), InputError> {
    for (cpu, group) in (0..).zip(groups) {
        if !group.test(cpu) {
            let id = sys.ids[cpu as usize];
            let what = format!("lists CPUs {}; expected CPU {id} itself among them", shown(sys, group));
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
        // The first of an equal group has been compared with all others.
        let first = group.first().unwrap_or(cpu);
        if first < cpu && groups[first as usize] == *group {
            continue;
        }
        if let Some(other) = group.iter().find(|&other| groups[other as usize] != *group) {
            let (mine, theirs) = (shown(sys, group), shown(sys, &groups[other as usize]));
            let what = format!("lists CPUs {mine}; expected the same as in {}, CPUs {theirs}", file(other));
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
    }
    Ok(())
}

/// Checks that the CPUs of a CPU's group are also in that CPU's wider group. Both come with what messages call them.
pub(super) fn within(
    sys: &Sys<'_>,
    inner: (&Groups, &str),
    outer: (&Groups, &str),
    file: impl Fn(Cpu) -> String,
) -> Result<(), InputError> {
    for (cpu, (small, large)) in (0..).zip(inner.0.iter().zip(outer.0)) {
        if !small.is_subset(large) {
            let (id, small, large) = (sys.ids[cpu as usize], sys.names(small), sys.names(large));
            let what =
                format!("{} of CPU {id} has CPUs {small}; expected only CPUs of its {}, {large}", inner.1, outer.1);
            return Err(sys.tree.contradiction(&file(cpu), what));
        }
    }
    Ok(())
}

/// Numbers the groups in the order of their first CPUs, from 0, and returns each CPU's number.
pub(super) fn numbers(groups: &Groups) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::with_capacity(groups.len());
    let mut next = 0;
    for (cpu, group) in (0..).zip(groups) {
        let first = group.first().filter(|&first| first < cpu);
        numbers.push(first.map_or(next, |first| numbers[first as usize]));
        next += u32::from(first.is_none());
    }
    numbers
}

fn shown(sys: &Sys<'_>, group: &CpuMask) -> String {
    if group.is_empty() { "none".to_owned() } else { sys.names(group) }
}
