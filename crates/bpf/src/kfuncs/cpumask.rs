//! `bpf_cpumask_*()` (`kernel/bpf/cpumask.c`, `include/linux/cpumask.h`).

use super::Own;
use crate::fault::Fault;
use crate::machine::{Kernel, Machine};

/// The bytes of a `struct cpumask` (`NR_CPUS` of 8192, as distributions build kernels), which programs may copy whole.
const CPUMASK_SIZE: u32 = 1024;

/// `struct bpf_cpumask`: the mask, and the references, which programs do not read.
const BPF_CPUMASK_SIZE: u32 = CPUMASK_SIZE + 8;

impl Machine {
    /// The words that have CPUs.
    fn nr_words(&self) -> u32 {
        self.nr_cpus.div_ceil(64)
    }

    /// A word of a mask, without bits beyond the last CPU.
    fn word(&self, mask: u64, at: u32) -> Result<u64, Fault> {
        let word = self.memory.read_u64(mask.wrapping_add(u64::from(at) * 8))?;
        let cpus = self.nr_cpus - at * 64;
        Ok(if cpus < 64 { word & ((1 << cpus) - 1) } else { word })
    }

    fn set_word(&mut self, mask: u64, at: u32, word: u64) -> Result<(), Fault> {
        let bytes = self.memory.program_bytes_mut(mask.wrapping_add(u64::from(at) * 8), 8)?;
        bytes.copy_from_slice(&word.to_le_bytes());
        Ok(())
    }

    /// The first CPU from `from` in what `word` gives; the number of CPUs if there is none.
    fn next_cpu(&self, from: u32, word: impl Fn(u32) -> Result<u64, Fault>) -> Result<u32, Fault> {
        let mut cpu = from;
        while cpu < self.nr_cpus {
            let rest = word(cpu / 64)? >> (cpu % 64);
            if rest != 0 {
                return Ok((cpu + rest.trailing_zeros()).min(self.nr_cpus));
            }
            cpu = (cpu / 64 + 1) * 64;
        }
        Ok(self.nr_cpus)
    }

    /// Writes `f` of two masks to a third: whether that has a CPU.
    fn combine(&mut self, a: [u64; 5], f: impl Fn(u64, u64) -> u64) -> Result<u64, Fault> {
        let mut any = 0;
        for at in 0..self.nr_words() {
            let word = f(self.word(a[1], at)?, self.word(a[2], at)?);
            self.set_word(a[0], at, word)?;
            any |= word;
        }
        Ok(u64::from(any != 0))
    }

    /// Whether `f` holds for each word of two masks.
    fn all(&self, a: [u64; 5], f: impl Fn(u64, u64) -> bool) -> Result<bool, Fault> {
        for at in 0..self.nr_words() {
            if !f(self.word(a[0], at)?, self.word(a[1], at)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sets or clears a CPU, if there is such a one: whether it was set.
    fn change_cpu(&mut self, cpu: u64, mask: u64, set: bool) -> Result<bool, Fault> {
        let cpu = cpu as u32;
        if cpu >= self.nr_cpus {
            return Ok(false);
        }
        let old = self.memory.read_u64(mask.wrapping_add(u64::from(cpu / 64) * 8))?;
        let bit = 1u64 << (cpu % 64);
        self.set_word(mask, cpu / 64, if set { old | bit } else { old & !bit })?;
        Ok(old & bit != 0)
    }

    /// `cpumask_any_distribute()`, and of two masks `cpumask_any_and_distribute()`: the next CPU after the one that was
    /// returned on this CPU the last time.
    fn distribute(&mut self, cpu: u32, word: impl Fn(&Self, u32) -> Result<u64, Fault>) -> Result<u64, Fault> {
        let nr_cpus = self.nr_cpus as usize;
        self.objects.distribute_prev.resize(nr_cpus, 0);
        let prev = self.objects.distribute_prev.get(cpu as usize).copied().unwrap_or_default();
        let mut next = self.next_cpu(prev + 1, |at| word(self, at))?;
        if next >= self.nr_cpus {
            next = self.next_cpu(0, |at| word(self, at))?;
        }
        if next < self.nr_cpus
            && let Some(prev) = self.objects.distribute_prev.get_mut(cpu as usize)
        {
            *prev = next;
        }
        Ok(u64::from(next))
    }

    /// Calls a function of cpumasks.
    pub(super) fn cpumask<K: Kernel>(&mut self, kernel: &mut K, own: Own, a: [u64; 5]) -> Result<u64, Fault> {
        match own {
            Own::CpumaskCreate => self.new_object("a cpumask", BPF_CPUMASK_SIZE.max(self.nr_words() * 8 + 8)),
            Own::CpumaskAcquire => self.acquire(own, a[0]),
            Own::CpumaskRelease => self.release(own, a[0]).map(|()| 0),
            Own::CpumaskFirst => self.next_cpu(0, |at| self.word(a[0], at)).map(u64::from),
            Own::CpumaskFirstZero => self.next_cpu(0, |at| Ok(!self.word(a[0], at)?)).map(u64::from),
            Own::CpumaskFirstAnd => {
                self.next_cpu(0, |at| Ok(self.word(a[0], at)? & self.word(a[1], at)?)).map(u64::from)
            }
            Own::CpumaskSetCpu => self.change_cpu(a[0], a[1], true).map(|_| 0),
            Own::CpumaskClearCpu => self.change_cpu(a[0], a[1], false).map(|_| 0),
            Own::CpumaskTestCpu => {
                let cpu = a[0] as u32;
                if cpu >= self.nr_cpus {
                    return Ok(0);
                }
                Ok(self.word(a[1], cpu / 64)? >> (cpu % 64) & 1)
            }
            Own::CpumaskTestAndSetCpu => self.change_cpu(a[0], a[1], true).map(u64::from),
            Own::CpumaskTestAndClearCpu => self.change_cpu(a[0], a[1], false).map(u64::from),
            Own::CpumaskSetall | Own::CpumaskClear => {
                for at in 0..self.nr_words() {
                    let cpus = self.nr_cpus - at * 64;
                    let all = if cpus < 64 { (1 << cpus) - 1 } else { u64::MAX };
                    self.set_word(a[0], at, if own == Own::CpumaskSetall { all } else { 0 })?;
                }
                Ok(0)
            }
            Own::CpumaskAnd => self.combine(a, |one, other| one & other),
            // These return nothing.
            Own::CpumaskOr => self.combine(a, |one, other| one | other).map(|_| 0),
            Own::CpumaskXor => self.combine(a, |one, other| one ^ other).map(|_| 0),
            Own::CpumaskCopy => self.combine([a[0], a[1], a[1], 0, 0], |one, _| one).map(|_| 0),
            Own::CpumaskEqual => self.all(a, |one, other| one == other).map(u64::from),
            Own::CpumaskIntersects => self.all(a, |one, other| one & other == 0).map(|none| u64::from(!none)),
            Own::CpumaskSubset => self.all(a, |one, other| one & !other == 0).map(u64::from),
            Own::CpumaskEmpty => self.next_cpu(0, |at| self.word(a[0], at)).map(|cpu| u64::from(cpu >= self.nr_cpus)),
            Own::CpumaskFull => {
                self.next_cpu(0, |at| Ok(!self.word(a[0], at)?)).map(|cpu| u64::from(cpu >= self.nr_cpus))
            }
            Own::CpumaskAnyDistribute => {
                let cpu = kernel.smp_processor_id();
                self.distribute(cpu, |machine, at| machine.word(a[0], at))
            }
            Own::CpumaskAnyAndDistribute => {
                let cpu = kernel.smp_processor_id();
                self.distribute(cpu, |machine, at| Ok(machine.word(a[0], at)? & machine.word(a[1], at)?))
            }
            Own::CpumaskWeight => {
                let mut weight = 0;
                for at in 0..self.nr_words() {
                    weight += u64::from(self.word(a[0], at)?.count_ones());
                }
                Ok(weight)
            }
            Own::CpumaskPopulate => {
                let len = self.nr_words() * 8;
                if a[2] < u64::from(len) {
                    return Ok(crate::maps::errno::EACCES as u64);
                }
                for at in 0..self.nr_words() {
                    let word = self.word(a[1], at)?;
                    self.set_word(a[0], at, word)?;
                }
                Ok(0)
            }
            other => Err(Machine::no_such(other)),
        }
    }
}
