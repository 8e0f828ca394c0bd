//! The CPUs that are imported, and files that list them.

use super::tree::{CPU, SAVE, Tree};
use crate::MachineError;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// A tree and the CPUs of it that are online. Their place in the list is their number in the machine: 0 upwards, in the
/// kernel's order.
#[derive(Clone, Debug)]
pub(super) struct Sys<'a> {
    pub(super) tree: Tree<'a>,
    /// The kernel's numbers, lowest first.
    pub(super) ids: Vec<Cpu>,
    possible: Option<Vec<Cpu>>,
}

impl<'a> Sys<'a> {
    /// Reads which CPUs there are.
    pub(super) fn read(tree: Tree<'a>) -> Result<Self, MachineError> {
        if !tree.has(CPU) {
            let error = tree.error(CPU, "the folder is missing; expected a /sys tree, whose CPUs are in this folder");
            return Err(match tree.has(&format!("sys/{CPU}")) {
                true => error.with_hint(format!("`--sysfs {}` has one", tree.name("sys"))),
                false => error.with_hint(SAVE),
            });
        }
        let online = format!("{CPU}/online");
        let ids = tree.need(&online, "the list of CPUs that are online, such as 0-7", Tree::list)?;
        if ids.is_empty() {
            return Err(tree.error(&online, "expected at least one CPU, found an empty list").with_hint(SAVE));
        }
        let possible = tree.list(&format!("{CPU}/possible"))?;
        let sys = Sys { tree, ids, possible };
        sys.check_possible(&online, &sys.ids)?;
        Ok(sys)
    }

    /// How many CPUs are imported.
    pub(super) fn len(&self) -> u32 {
        self.ids.len() as u32
    }

    /// The CPUs that could be online but are not, as a list; empty if there are none.
    pub(super) fn offline(&self) -> String {
        let possible = self.possible.iter().flatten();
        list(possible.copied().filter(|cpu| self.ids.binary_search(cpu).is_err()))
    }

    /// The path of a CPU's file; `cpu` is its number in the machine.
    pub(super) fn path(&self, cpu: Cpu, file: &str) -> String {
        format!("{CPU}/cpu{}/{file}", self.ids[cpu as usize])
    }

    /// The CPUs that a file lists, without those that are offline, if there is such a file.
    pub(super) fn mask(&self, path: &str) -> Result<Option<CpuMask>, MachineError> {
        let Some(cpus) = self.tree.list(path)? else { return Ok(None) };
        self.check_possible(path, &cpus)?;
        let online = cpus.iter().filter_map(|cpu| self.ids.binary_search(cpu).ok());
        Ok(Some(CpuMask::from_cpus(self.len(), online.map(|index| index as Cpu))))
    }

    /// The kernel's numbers of these CPUs, as a list.
    pub(super) fn names(&self, cpus: &CpuMask) -> String {
        list(cpus.iter().map(|cpu| self.ids[cpu as usize]))
    }

    /// Calls `f` for each CPU, by its number in the machine.
    pub(super) fn each<T>(&self, f: impl FnMut(Cpu) -> Result<T, MachineError>) -> Result<Vec<T>, MachineError> {
        (0..self.len()).map(f).collect()
    }

    /// The CPUs that have a value in common with each CPU.
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

    fn check_possible(&self, path: &str, cpus: &[Cpu]) -> Result<(), MachineError> {
        let Some(possible) = &self.possible else { return Ok(()) };
        let Some(cpu) = cpus.iter().find(|cpu| possible.binary_search(cpu).is_err()) else { return Ok(()) };
        let what = format!("names CPU {cpu}; expected CPUs of {CPU}/possible, {}", list(possible.iter().copied()));
        Err(self.tree.contradiction(path, what))
    }
}

/// Numbers as a list.
pub(super) fn list(numbers: impl IntoIterator<Item = Cpu>) -> String {
    let numbers: Vec<Cpu> = numbers.into_iter().collect();
    let room = numbers.iter().max().map_or(0, |&last| last + 1);
    CpuMask::from_cpus(room, numbers).to_string()
}
