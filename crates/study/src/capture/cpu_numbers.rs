//! The CPUs of a recording, which has the kernel's numbers, as those of its machine, which has no gaps between them.

use super::Happens;
use wakelab_events::stream::TaskGroups;
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;

/// The kernel's number of each CPU of a machine.
pub(super) struct CpuNumbers<'a> {
    /// Lowest first.
    ids: &'a [Cpu],
}

impl<'a> CpuNumbers<'a> {
    /// Those of a machine that numbers its CPUs otherwise than its kernel, whose numbers a recording has.
    pub(super) fn of(machine: Option<&'a Machine>, recorded: bool) -> Option<Self> {
        machine.filter(|_| recorded)?.cpu_ids.as_deref().map(|ids| CpuNumbers { ids })
    }

    /// Renumbers the CPUs of an event.
    ///
    /// # Errors
    /// The kernel's number of a CPU that the machine lacks.
    pub(super) fn renumber(&self, event: &mut Happens) -> Result<(), Cpu> {
        match event {
            Happens::Wake(wake) => {
                self.own(&mut wake.waker_cpu)?;
                self.own(&mut wake.dest_cpu)?;
                // A task that sleeps while its CPU goes offline was there last nevertheless: that is no CPU of the
                // machine.
                let before = |cpu| self.place(cpu).unwrap_or((self.ids.len() as Cpu).saturating_add(cpu));
                wake.prev_cpu = wake.prev_cpu.map(before);
                if let Some(wakee) = &mut wake.wakee {
                    self.online(&mut wakee.affinity);
                }
                Ok(())
            }
            Happens::Switch(switch) => self.own(&mut switch.cpu),
            Happens::Idle(value) | Happens::Frequency(value) => self.own(&mut value.cpu),
            Happens::Name(_) | Happens::Enqueue(_) | Happens::Life(_) | Happens::Done(_) => Ok(()),
        }
    }

    /// Renumbers the CPUs of control groups.
    pub(super) fn renumber_groups(&self, groups: &mut TaskGroups) {
        groups.groups.values_mut().for_each(|group| self.online(&mut group.cpus));
    }

    /// The number of a CPU in the machine.
    fn place(&self, cpu: Cpu) -> Option<Cpu> {
        self.ids.binary_search(&cpu).ok().map(|place| place as Cpu)
    }

    fn own(&self, cpu: &mut Cpu) -> Result<(), Cpu> {
        *cpu = self.place(*cpu).ok_or(*cpu)?;
        Ok(())
    }

    /// Tasks and groups may be allowed to run on CPUs that are offline, too.
    fn online(&self, cpus: &mut Option<Vec<Cpu>>) {
        if let Some(cpus) = cpus {
            *cpus = cpus.iter().filter_map(|&cpu| self.place(cpu)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_events::stream::{Switch, TaskAttributes, WakeCause, WakeContext};

    #[test]
    fn cpus_of_the_kernel_become_those_of_the_machine() {
        let mut machine = wakelab_machine::get("test-8c").expect("a machine");
        assert!(CpuNumbers::of(Some(&machine), true).is_none(), "they are the same");
        machine.cpu_ids = Some((0..8).map(|cpu| 2 * cpu).collect());
        assert!(CpuNumbers::of(Some(&machine), false).is_none(), "a simulated run has the machine's");
        let numbers = CpuNumbers::of(Some(&machine), true).expect("numbers");
        let wake = |dest_cpu| {
            Happens::Wake(WakeCause {
                t_ns: 0,
                decided_ns: 0,
                waker_cpu: 14,
                waker_pid: None,
                waker_comm: String::new(),
                wakee_pid: 1,
                wakee_comm: String::new(),
                dest_cpu,
                prev_cpu: Some(15),
                flags: None,
                context: WakeContext::Unknown,
                by_wakelist: None,
                wakee: Some(TaskAttributes { affinity: Some(vec![4, 5, 6]), ..TaskAttributes::default() }),
            })
        };
        let mut online = wake(4);
        numbers.renumber(&mut online).expect("CPUs of the machine");
        let Happens::Wake(WakeCause { waker_cpu: 7, dest_cpu: 2, prev_cpu: Some(prev), wakee: Some(wakee), .. }) =
            online
        else {
            panic!("other CPUs")
        };
        assert!(prev >= 8, "it is offline");
        assert_eq!(wakee.affinity, Some(vec![2, 3]));
        assert_eq!(numbers.renumber(&mut wake(5)), Err(5));
        let mut switch =
            Happens::Switch(Switch { t_ns: 0, cpu: 16, prev_pid: 0, prev_sleeps: false, next_pid: 1, idles: false });
        assert_eq!(numbers.renumber(&mut switch), Err(16));
    }
}
