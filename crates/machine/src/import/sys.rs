//! The CPUs that are imported, the files that list them, and what CPUs have in common.

use super::tree::{CPU, SAVE, Tree, mask_file, pattern};
use std::cell::RefCell;
use wakelab_input::{InputError, cpulist_text};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::MAX_CPUS;

/// A tree and those of its CPUs that are online. A CPU's place in the list is its number in the machine: 0 upwards, in
/// the kernel's order.
#[derive(Clone, Debug)]
pub(super) struct Sys<'a> {
    pub(super) tree: Tree<'a>,
    /// The kernel's numbers, lowest first.
    pub(super) ids: Vec<Cpu>,
    possible: Option<Vec<Cpu>>,
    offline: Vec<Cpu>,
    /// Notes for the reader, each line once.
    notes: RefCell<Vec<String>>,
    /// Which parts of the shape are guessed.
    guesses: RefCell<Vec<String>>,
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
        let possible = tree.cpus(&format!("{CPU}/possible"))?;
        let mut sys = Sys {
            tree,
            ids: Vec::new(),
            possible,
            offline: Vec::new(),
            notes: RefCell::default(),
            guesses: RefCell::default(),
        };
        match tree.cpus(&online)? {
            Some(ids) => {
                let present =
                    sys.possible.clone().map_or_else(|| tree.cpus(&format!("{CPU}/present")), |all| Ok(Some(all)))?;
                sys.offline = present.unwrap_or_default();
                sys.offline.retain(|cpu| ids.binary_search(cpu).is_err());
                sys.ids = ids;
                sys.note_offline("");
            }
            None => sys.read_folders(&online)?,
        }
        if sys.ids.is_empty() {
            return Err(tree.error(&online, "expected at least one CPU, found an empty list").with_hint(SAVE));
        }
        sys.check_possible(&online, &sys.ids)?;
        Ok(sys)
    }

    /// Finds out which CPUs are online from the folder of each, if there is no list: a CPU that is offline has no
    /// topology.
    fn read_folders(&mut self, list: &str) -> Result<(), InputError> {
        let tree = self.tree;
        let cpus = tree.numbered(CPU, "cpu")?;
        if cpus.is_empty() {
            return Err(tree
                .error(list, "the file is missing; expected the list of online CPUs, such as 0-7")
                .with_hint(SAVE));
        }
        if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= MAX_CPUS) {
            let what = format!("expected CPUs from 0 to {}", MAX_CPUS - 1);
            return Err(tree.error(&format!("{CPU}/cpu{cpu}"), what).with_hint(SAVE));
        }
        self.note(format!(
            "there is no {list}: which CPUs are online is read from the folders cpu*/topology and the files \
             cpu*/online"
        ));
        let off = tree.cpus(&format!("{CPU}/offline"))?.unwrap_or_default();
        let with_topology: Vec<Cpu> =
            cpus.iter().copied().filter(|cpu| tree.has(&format!("{CPU}/cpu{cpu}/topology"))).collect();
        let mut why = Vec::new();
        for cpu in cpus {
            let file = tree.number(&format!("{CPU}/cpu{cpu}/online"), &(0..=1))?;
            let topology = with_topology.is_empty() || with_topology.binary_search(&cpu).is_ok();
            let listed = off.binary_search(&cpu).is_ok();
            if file == Some(0) || listed || !topology && file.is_none() {
                let mut reasons = Vec::new();
                reasons.extend((file == Some(0)).then(|| format!("cpu{cpu}/online is 0")));
                reasons.extend(listed.then(|| format!("cpu/offline has CPU {cpu}")));
                reasons.extend((!topology).then(|| match reasons.is_empty() {
                    true => format!("cpu{cpu} has no topology"),
                    false => "no topology".to_owned(),
                }));
                why.push(reasons.join(", "));
                self.offline.push(cpu);
            } else {
                self.ids.push(cpu);
            }
        }
        let why =
            if why.len() > 3 { "they have no topology, or their files say so".to_owned() } else { why.join("; ") };
        self.note_offline(&why);
        Ok(())
    }

    fn note_offline(&self, why: &str) {
        let (cpus, are) = if self.offline.len() == 1 { ("CPU", "is") } else { ("CPUs", "are") };
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        if !self.offline.is_empty() {
            self.note(format!("{cpus} {} {are} offline and left out{why}", self.offline()));
        }
    }

    /// Adds what a reader should know.
    pub(super) fn note(&self, note: String) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Adds a part of the shape that the tree does not tell.
    pub(super) fn guess(&self, guess: String) {
        self.guesses.borrow_mut().push(guess);
    }

    /// Returns the notes, and the guesses.
    pub(super) fn into_notes(self) -> (Vec<String>, Vec<String>) {
        (self.notes.into_inner(), self.guesses.into_inner())
    }

    /// Returns how many CPUs are imported.
    pub(super) fn len(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Returns the CPUs that could be online but are not, as a list; empty if there are none.
    pub(super) fn offline(&self) -> String {
        list(self.offline.iter().copied())
    }

    /// Returns the path of a CPU's file. `cpu` is its number in the machine.
    pub(super) fn path(&self, cpu: Cpu, file: &str) -> String {
        format!("{CPU}/cpu{}/{file}", self.ids[cpu as usize])
    }

    /// Returns whether there is a file that [`mask`](Self::mask) would read.
    pub(super) fn has_mask(&self, path: &str) -> bool {
        self.tree.has(path) || mask_file(path).is_some_and(|mask| self.tree.has(&mask))
    }

    /// Returns the CPUs that a file lists, without those that are offline; if there is no list, those of the mask
    /// beside it. Returns `None` if there is neither.
    pub(super) fn mask(&self, path: &str) -> Result<Option<CpuMask>, InputError> {
        let cpus = match (self.tree.cpus(path)?, mask_file(path)) {
            (Some(cpus), _) => cpus,
            (None, None) => return Ok(None),
            (None, Some(mask)) => {
                let Some(cpus) = self.tree.cpumask(&mask)? else { return Ok(None) };
                self.note(format!("there is no {}: the mask {} is read instead", pattern(path), pattern(&mask)));
                cpus
            }
        };
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

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// By CPU: the CPUs that have something in common with it, as each of them lists it.
pub(super) type Groups = Vec<CpuMask>;

/// Checks that each CPU is in its own list, and that all CPUs of a list have the same list.
pub(super) fn check(sys: &Sys<'_>, groups: &Groups, file: impl Fn(Cpu) -> String) -> Result<(), InputError> {
    for (cpu, group) in (0..).zip(groups) {
        if !group.test(cpu) {
            let id = sys.ids[cpu as usize];
            let what = format!("lists CPUs {}; expected CPU {id} itself to be among them", shown(sys, group));
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
