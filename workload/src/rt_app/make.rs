//! From a file to a workload.

use super::policy::Policy;
use super::program::of_start;
use super::{RtApp, Workload};
use crate::error::{About, WorkloadError};
use crate::validate::TASKS_MAX;
use crate::{Channel, Task};

impl RtApp {
    /// So many rt-apps that run this file at a time, each with threads and resources of its own.
    ///
    /// # Errors
    /// Where these are too many threads.
    pub fn copies(&self, copies: u32) -> Result<Workload, WorkloadError> {
        let threads = u64::from(copies) * of_start(&self.threads).map(|t| u64::from(t.instances)).sum::<u64>();
        if threads > TASKS_MAX {
            let what = format!("{copies} times {} are {threads} threads", self.path.display());
            return Err(WorkloadError::new(About::Load, format!("{what}; expected {TASKS_MAX} at most")));
        }
        Ok(self.workload(copies, true))
    }

    /// The same, with numbers after the names where there are several, or with the names as they are in the file.
    pub(super) fn workload(&self, copies: u32, numbered: bool) -> Workload {
        let name = |name: &str, number: u32, of: u32| {
            if numbered && of > 1 { format!("{name} {number}") } else { name.to_owned() }
        };
        let mut channels = vec![];
        let mut tasks = vec![];
        for copy in 0..copies {
            let first = channels.len() as u32;
            channels.extend(
                self.resources.iter().map(|resource| Channel {
                    name: name(&resource.label(), copy, copies),
                    capacity: resource.capacity,
                }),
            );
            let mine: Vec<u32> = (first..channels.len() as u32).collect();
            for (program, thread) in of_start(&self.threads).enumerate() {
                tasks.extend((0..thread.instances).map(|i| Task {
                    name: name(&thread.name, copy * thread.instances + i, copies * thread.instances),
                    program: program as u32,
                    channels: mine.clone(),
                    start_ns: 0,
                    nice: thread.nice,
                    idle_policy: thread.policy == Policy::Idle,
                    slice_ns: thread.slice_ns,
                    affinity: thread.cpus.as_ref().map(|cpus| cpus.cpus.clone()),
                }));
            }
        }
        let each = tasks.len() / copies.max(1) as usize;
        let threads = if each == 1 { "1 thread".to_owned() } else { format!("{each} threads") };
        Workload {
            benchmark: "rt-app".to_owned(),
            case: self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
            load: if copies == 1 { threads } else { format!("{copies} x {threads}") },
            metric: "throughput".to_owned(),
            unit: "loops/s".to_owned(),
            higher_is_better: true,
            programs: self.programs.clone(),
            channels,
            tasks,
            cpu_sets: self.cpu_sets.clone(),
            params: vec![],
        }
    }
}
