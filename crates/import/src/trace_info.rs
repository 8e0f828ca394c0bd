//! The facts in a trace about the machine and the kernel on which it was recorded.

use crate::ImportError;
use std::collections::HashMap;
use std::path::Path;
use wakelab_events::limits::MAX_CPUS;
use wakelab_input::parse_cpulist;

/// The machine and the kernel of a trace, as far as the trace has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// The format, in more detail than the kind of the file; `None` if there is no more to say.
    pub format: Option<&'static str>,
    /// The kernel release, as `uname -r` prints it.
    pub release: Option<String>,
    /// The architecture, as `uname -m` prints it.
    pub arch: Option<String>,
    /// The name of the processor or the device.
    pub model: Option<String>,
    /// The number of CPUs.
    pub cpus: Option<u32>,
    /// By CPU: the number of its last-level cache.
    pub cpu_llc: Option<Vec<u32>>,
    /// Names of tasks that the recorder noted beside the events.
    pub names: HashMap<i32, String>,
}

/// The most names that are kept of a trace; a kernel has at most four times as many tasks.
const MOST_NAMES: usize = 1 << 20;

impl TraceInfo {
    /// Takes the name of a task, if it has none yet.
    pub(crate) fn name(&mut self, pid: i32, name: &str) {
        if pid > 0 && !name.is_empty() && self.names.len() < MOST_NAMES {
            self.names.entry(pid).or_insert_with(|| crate::event::comm(name));
        }
    }

    /// The machine in one line: its model, its number of CPUs and its architecture. Empty if none of them is known.
    pub fn machine(&self) -> String {
        let cpus = self.cpus.map(|cpus| format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" }));
        [self.model.clone(), cpus, self.arch.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// A copy, with the names that were found since the last one.
    pub(crate) fn take_names(&mut self) -> Self {
        let names = std::mem::take(&mut self.names);
        TraceInfo { names, ..self.clone() }
    }

    /// Takes what `self` lacks from another file of the same recording.
    ///
    /// # Errors
    /// Fails if the files are of two kernels.
    pub(crate) fn merge(&mut self, other: TraceInfo, path: &Path) -> Result<(), ImportError> {
        if let (Some(own), Some(others)) = (&self.release, &other.release)
            && own != others
        {
            let what = format!("expected a file of the same machine, found kernel {others} besides {own}");
            return Err(
                ImportError::new(path, what).with_hint("import the files of each machine into a folder of its own")
            );
        }
        let TraceInfo { format, release, arch, model, cpus, cpu_llc, names } = other;
        self.format = self.format.or(format);
        self.release = self.release.take().or(release);
        self.arch = self.arch.take().or(arch);
        self.model = self.model.take().or(model);
        self.cpus = self.cpus.max(cpus);
        self.cpu_llc = self.cpu_llc.take().or(cpu_llc);
        names.iter().for_each(|(&pid, name)| self.name(pid, name));
        Ok(())
    }
}

/// Caches as perf lists them: the level, the type and the CPUs that share each.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    /// The level of the caches in `llcs`.
    level: u32,
    llcs: Vec<Vec<u32>>,
}

impl Caches {
    /// Adds a cache that these CPUs share, as a list (`0-3,8`). Instruction caches and caches of lower levels than
    /// those so far are left out.
    pub(crate) fn add(&mut self, level: u32, kind: &str, cpus: &str) {
        let Ok(cpus) = parse_cpulist(cpus, MAX_CPUS) else { return };
        if kind == "Instruction" || level < self.level {
            return;
        }
        if level > self.level {
            self.level = level;
            self.llcs.clear();
        }
        self.llcs.push(cpus);
    }

    /// By CPU: the number of its last-level cache, which is that of its first CPU. `None` unless each CPU has one.
    pub(crate) fn cpu_llc(&self) -> Option<Vec<u32>> {
        let cpus = self.llcs.iter().flatten().max()? + 1;
        let of = |cpu| self.llcs.iter().find(|llc| llc.contains(&cpu))?.first().copied();
        // A cache of the first level is no LLC of a group of CPUs that could be told apart from its cores.
        (0..cpus).map(of).collect::<Option<Vec<_>>>().filter(|_| self.level > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caches_of_the_highest_level_are_the_llcs() {
        let mut caches = Caches::default();
        for (level, kind, cpus) in [
            (1, "Data", "0-1"),
            (2, "Unified", "0-1"),
            (3, "Unified", "0-1,4"),
            (3, "Unified", "2-3"),
            (2, "Unified", "2-3"),
        ] {
            caches.add(level, kind, cpus);
        }
        assert_eq!(caches.cpu_llc(), Some(vec![0, 0, 2, 2, 0]));
        caches.add(3, "Unified", "7");
        assert_eq!(caches.cpu_llc(), None, "CPUs 5 and 6 have none");
        caches.add(4, "Unified", "0-99999999");
        assert_eq!(caches.level, 3, "a list that is too long is left out");
    }

    #[test]
    fn files_of_two_kernels_are_refused() {
        let of = |release: &str, cpus| TraceInfo {
            release: Some(release.to_owned()),
            cpus: Some(cpus),
            ..TraceInfo::default()
        };
        let mut info = of("6.1.0", 2);
        info.merge(TraceInfo { model: Some("Juno".into()), ..of("6.1.0", 4) }, Path::new("b")).expect("one kernel");
        assert_eq!(info.machine(), "Juno, 4 CPUs");
        assert!(info.merge(of("6.12.0", 2), Path::new("c")).expect_err("two").what.contains("6.12.0 besides 6.1.0"));
    }
}
