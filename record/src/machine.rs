//! The machine: its scheduling domains, as the kernel has built them.

use crate::bpf_program::{OpenRecordSkel, RecordSkel, RecordSkelBuilder};
use crate::kernel::hz;
use crate::refusal::of_load;
use crate::wire::{DomainPart, MAX_CPUS, text};
use anyhow::{Context, Result, bail};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput};
use serde_json::{Value, json};
use std::mem::MaybeUninit;
use std::time::Duration;

/// What is known of the machine.
pub struct Machine {
    /// CPUs that the kernel may have, online or not.
    pub nr_cpus: usize,
    /// By CPU.
    pub cpus: Vec<Cpu>,
    /// Ticks a second.
    pub hz: u32,
}

/// A CPU.
pub struct Cpu {
    /// `sd_llc_id`; a number of its own for a CPU outside all domains.
    pub sd_llc_id: u32,
    /// Its domains, from the lowest.
    pub domains: Vec<Domain>,
    /// The first CPU of its LLC.
    pub llc_first: usize,
    /// Which of the domains is that of the LLC.
    pub llc_level: Option<usize>,
}

/// A domain: with its groups in the order of this CPU's walk.
pub struct Domain {
    part: DomainPart,
    groups: Vec<DomainPart>,
}

const MOST_LEVELS: u32 = 12;

impl Machine {
    /// Asks the kernel.
    pub fn describe() -> Result<Self> {
        let nr_cpus = libbpf_rs::num_possible_cpus().context("/sys/devices/system/cpu/possible cannot be read")?;
        if nr_cpus > MAX_CPUS {
            bail!("expected at most {MAX_CPUS} CPUs, found {nr_cpus}");
        }
        let mut place = MaybeUninit::<OpenObject>::uninit();
        let mut open = open(&mut place)?;
        open.open_object_mut_progs_only("describe");
        let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
        rodata.nr_cpus = nr_cpus as u32;
        let (loaded, messages) = crate::messages::gathered(|| open.load());
        let mut skel = loaded.map_err(|e| of_load(&e, &messages))?;
        let mut cpus = Vec::new();
        for cpu in 0..nr_cpus {
            cpus.push(Cpu::describe(&mut skel, cpu as u32)?);
        }
        let known: Vec<Option<u32>> =
            cpus.iter().map(|cpu| Some(cpu.sd_llc_id).filter(|_| !cpu.domains.is_empty())).collect();
        for (cpu, (first, id)) in cpus.iter_mut().zip(llcs_of(&known)) {
            (cpu.llc_first, cpu.sd_llc_id) = (first, id);
        }
        let hz = measure_hz(&mut skel)?;
        let mut machine = Machine { nr_cpus, cpus, hz };
        machine.find_llcs();
        Ok(machine)
    }

    /// The LLC's domain is the one that holds the CPUs of the LLC and no others.
    fn find_llcs(&mut self) {
        let llcs: Vec<usize> = self.cpus.iter().map(|cpu| cpu.llc_first).collect();
        for cpu in &mut self.cpus {
            let size = llcs.iter().filter(|&&first| first == cpu.llc_first).count();
            cpu.llc_level = cpu.domains.iter().position(|domain| domain.part.span_weight as usize == size);
        }
    }

    /// The LLCs by their first CPUs, with their ids.
    pub fn llcs(&self) -> Vec<(usize, u32)> {
        let firsts = (0..self.nr_cpus).filter(|&cpu| self.cpus[cpu].llc_first == cpu);
        firsts.map(|cpu| (cpu, self.cpus[cpu].sd_llc_id)).collect()
    }

    /// A name for it.
    pub fn name(&self) -> String {
        format!("{}cpus-{}llcs", self.nr_cpus, self.llcs().len())
    }

    /// As a topo file has it.
    pub fn json(&self, version: &str, meta: Value) -> Value {
        let domains = |cpu: &Cpu| Value::from(cpu.domains.iter().map(Domain::json).collect::<Vec<_>>());
        json!({
            "kernel": version,
            "topology": self.name(),
            "meta": meta,
            "cpu_llc": self.cpus.iter().map(|cpu| cpu.sd_llc_id).collect::<Vec<_>>(),
            "domains": self.cpus.iter().enumerate().map(|(at, cpu)| (at.to_string(), domains(cpu)))
                .collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl Cpu {
    fn describe(skel: &mut RecordSkel<'_>, cpu: u32) -> Result<Self> {
        let mut domains = Vec::new();
        let mut sd_llc_id = cpu;
        for level in 0..MOST_LEVELS {
            let first = ask(skel, cpu, level, 0)?;
            sd_llc_id = u32::try_from(first.sd_llc_id).unwrap_or(cpu);
            if first.exists == 0 {
                break;
            }
            let mut groups = vec![first];
            while let Some(last) = groups.last()
                && last.next_group != first.first_group
                && groups.len() < MAX_CPUS
            {
                groups.push(ask(skel, cpu, level, last.next_group)?);
            }
            domains.push(Domain { part: first, groups });
        }
        Ok(Cpu { sd_llc_id, domains, llc_first: cpu as usize, llc_level: None })
    }
}

impl Domain {
    fn json(&self) -> Value {
        let group = |group: &DomainPart| {
            json!({
                "mask": mask(&group.group),
                "weight": group.group_weight,
                "capacity": group.group_capacity,
                "flags": format!("{:x}", group.group_flags),
            })
        };
        json!({
            "name": text(&self.part.name),
            "flags": format!("{:x}", self.part.flags),
            "imbalance_pct": self.part.imbalance_pct,
            "imb_numa_nr": self.part.imb_numa_nr,
            "span": mask(&self.part.span),
            "span_weight": self.part.span_weight,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }
}

/// The first CPU of each CPU's LLC, and its id. A CPU outside all domains (never online, isolcpus=) has none: the kernel
/// leaves it the id 0, which is that of CPU 0's.
fn llcs_of(known: &[Option<u32>]) -> Vec<(usize, u32)> {
    let of = |(cpu, id): (usize, &Option<u32>)| match id {
        Some(id) => (known.iter().position(|other| other == &Some(*id)).unwrap_or(cpu), *id),
        None if known.contains(&Some(cpu as u32)) => (cpu, (known.len() + cpu) as u32),
        None => (cpu, cpu as u32),
    };
    known.iter().enumerate().map(of).collect()
}

fn mask(words: &[u64]) -> String {
    let highest = words.iter().rposition(|&word| word != 0).unwrap_or(0);
    let rest: String = words[..highest].iter().rev().map(|word| format!("{word:016x}")).collect();
    format!("{:x}{rest}", words[highest])
}

/// Opens the program; nothing is loaded yet.
pub fn open(place: &mut MaybeUninit<OpenObject>) -> Result<OpenRecordSkel<'_>> {
    RecordSkelBuilder::default().open(place).context("the embedded program cannot be opened")
}

trait Only {
    fn open_object_mut_progs_only(&mut self, name: &str);
}

impl Only for OpenRecordSkel<'_> {
    /// Loads no other program.
    fn open_object_mut_progs_only(&mut self, name: &str) {
        for mut program in self.open_object_mut().progs_mut() {
            let keep = program.name() == name;
            program.set_autoload(keep);
        }
    }
}

fn ask(skel: &mut RecordSkel<'_>, cpu: u32, level: u32, group: u64) -> Result<DomainPart> {
    let bss = skel.maps.bss_data.as_mut().context("the program has no variables")?;
    bss.ask_cpu = cpu;
    bss.ask_level = level;
    bss.ask_group = group;
    skel.progs.describe.test_run(ProgramInput::default()).context("the kernel does not run the program")?;
    let part = &skel.maps.bss_data.as_ref().context("the program has no variables")?.part;
    let mut name = [0; 16];
    for (to, from) in name.iter_mut().zip(&part.name) {
        *to = *from as u8;
    }
    Ok(DomainPart {
        next_group: part.next_group,
        first_group: part.first_group,
        span: part.span,
        group: part.group,
        group_capacity: part.group_capacity,
        group_flags: part.group_flags,
        group_weight: part.group_weight,
        flags: part.flags,
        imbalance_pct: part.imbalance_pct,
        imb_numa_nr: part.imb_numa_nr,
        span_weight: part.span_weight,
        sd_llc_id: part.sd_llc_id,
        exists: part.exists,
        name,
    })
}

/// The kernel says its HZ nowhere that can be relied on: its ticks are counted.
fn measure_hz(skel: &mut RecordSkel<'_>) -> Result<u32> {
    let look = |skel: &mut RecordSkel<'_>| -> Result<(u64, u64)> {
        ask(skel, 0, 0, 0)?;
        let bss = skel.maps.bss_data.as_ref().context("the program has no variables")?;
        Ok((bss.now_jiffies, bss.now_ns))
    };
    let first = look(skel)?;
    std::thread::sleep(Duration::from_millis(200));
    Ok(hz([first, look(skel)?]))
}

#[cfg(test)]
mod tests {
    use super::llcs_of;

    #[test]
    fn cpus_outside_domains_have_llcs_of_their_own() {
        let known = [Some(0), Some(0), None, Some(3), Some(3), None];
        assert_eq!(llcs_of(&known), [(0, 0), (0, 0), (2, 2), (3, 3), (3, 3), (5, 5)]);
        // Ids that are numbered without gaps may be those of CPUs outside.
        assert_eq!(llcs_of(&[Some(0), None, Some(1), Some(1)]), [(0, 0), (1, 5), (2, 1), (2, 1)]);
        assert_eq!(llcs_of(&[None]), [(0, 0)]);
    }
}
