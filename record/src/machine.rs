//! The machine: its scheduling domains, as the kernel has built them.

use crate::bpf_program::{OpenRecordSkel, RecordSkel, RecordSkelBuilder, types};
use crate::kernel::hz;
use crate::refusal::of_load;
use crate::shared::tell;
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
    /// `sd_llc_size`.
    pub sd_llc_size: i32,
    /// `rq->cpu_capacity_orig`; 0 where this kernel has it elsewhere.
    pub capacity_orig: u32,
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

/// Asks the kernel, as often as need be.
pub struct Describer<'a> {
    skel: RecordSkel<'a>,
    nr_cpus: usize,
    hz: u32,
}

/// A description that is longer, in bytes, says of a domain which other it is like. It is in each segment.
const LONG: usize = 32 << 10;

/// The number of the first description.
pub const FIRST: u32 = 2;

/// The kernel builds domains anew within milliseconds.
const ATTEMPTS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(10);

impl<'a> Describer<'a> {
    /// Loads the program that looks.
    pub fn load(place: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        let nr_cpus = libbpf_rs::num_possible_cpus().context("/sys/devices/system/cpu/possible cannot be read")?;
        if nr_cpus > MAX_CPUS {
            bail!("expected at most {MAX_CPUS} CPUs, found {nr_cpus}");
        }
        let mut open = open(place)?;
        open.open_object_mut_progs_only("describe");
        // They are not used, and large.
        open.maps.scratches.set_max_entries(1)?;
        open.maps.ring.set_max_entries(1 << 16)?;
        let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
        rodata.nr_cpus = nr_cpus as u32;
        let (loaded, messages) = crate::messages::gathered(|| open.load());
        let mut skel = loaded.map_err(|e| of_load(&e, &messages))?;
        let hz = measure_hz(&mut skel)?;
        Ok(Describer { skel, nr_cpus, hz })
    }

    /// Describes the machine as it is now.
    pub fn describe(&mut self) -> Result<Machine> {
        let mut before = self.look()?;
        for _ in 0..ATTEMPTS {
            let now = self.look()?;
            if now.is(&before) {
                return Ok(now);
            }
            before = now;
            std::thread::sleep(BETWEEN);
        }
        bail!("the scheduling domains are being rebuilt all the time; is something taking CPUs off and on?")
    }

    fn look(&mut self) -> Result<Machine> {
        let mut cpus = Vec::new();
        for cpu in 0..self.nr_cpus {
            cpus.push(Cpu::describe(&mut self.skel, cpu as u32)?);
        }
        let known: Vec<Option<u32>> =
            cpus.iter().map(|cpu| Some(cpu.sd_llc_id).filter(|_| !cpu.domains.is_empty())).collect();
        for (cpu, (first, id)) in cpus.iter_mut().zip(llcs_of(&known)) {
            (cpu.llc_first, cpu.sd_llc_id) = (first, id);
        }
        let mut machine = Machine { nr_cpus: self.nr_cpus, cpus, hz: self.hz };
        machine.find_llcs();
        Ok(machine)
    }
}

impl Machine {
    /// What two looks have in common if nothing was rebuilt between them: where the domains are, and of which CPUs.
    fn identity(&self) -> Vec<(u64, u64, Vec<u64>)> {
        let of_cpu = |cpu: &Cpu| {
            let own = (cpu.sd_llc_id.into(), cpu.sd_llc_size as u64, Vec::new());
            let domains = cpu.domains.iter().map(|sd| (sd.part.domain, sd.part.first_group, sd.part.span.to_vec()));
            domains.chain([own]).collect::<Vec<_>>()
        };
        self.cpus.iter().flat_map(of_cpu).collect()
    }

    /// Whether nothing was rebuilt between the two.
    pub fn is(&self, other: &Machine) -> bool {
        self.identity() == other.identity()
    }

    /// Tells the programs of it, under a number that is even and above the last.
    pub fn tell(&self, bss: &mut types::bss, number: u32) {
        tell(&mut bss.machine, number - 1);
        tell(&mut bss.machine_changed, 0);
        for (at, cpu) in self.cpus.iter().enumerate() {
            tell(&mut bss.domain_of[at], cpu.domains.first().map_or(0, |domain| domain.part.domain));
            tell(&mut bss.llc_first[at], cpu.llc_first as i32);
            tell(&mut bss.llc_level[at], cpu.llc_level.map_or(-1, |level| level as i32));
        }
        tell(&mut bss.machine, number);
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

    /// By CPU: what it can do at most, 1024 being the most of all (`arch_scale_cpu_capacity()`).
    pub fn capacities(&self) -> Vec<u32> {
        let of = |(at, cpu): (usize, &Cpu)| {
            let path = format!("/sys/devices/system/cpu/cpu{at}/cpu_capacity");
            let told = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
            told.unwrap_or(if cpu.capacity_orig == 0 { 1024 } else { cpu.capacity_orig })
        };
        self.cpus.iter().enumerate().map(of).collect()
    }

    /// A name for it.
    pub fn name(&self) -> String {
        format!("{}cpus-{}llcs", self.nr_cpus, self.llcs().len())
    }

    /// As a topo file has it: in full, but for large machines.
    pub fn json(&self, version: &str, meta: &Value) -> String {
        let full = self.described(version, meta, |_, _| None).to_string();
        if full.len() <= LONG {
            full
        } else {
            self.described(version, meta, |cpu, level| self.like(cpu, level)).to_string()
        }
    }

    /// A CPU before this one whose domain at this level is the same but for where its walk begins.
    fn like(&self, cpu: usize, level: usize) -> Option<usize> {
        let own = &self.cpus[cpu].domains[level];
        let first = own.part.span.iter().enumerate().find(|(_, word)| **word != 0);
        let first = first.map(|(at, word)| at * 64 + word.trailing_zeros() as usize)?;
        let other = self.cpus.get(first).filter(|_| first < cpu)?.domains.get(level)?;
        own.turns_into(other, cpu).then_some(first)
    }

    fn described(&self, version: &str, meta: &Value, like: impl Fn(usize, usize) -> Option<usize>) -> Value {
        let domain = |cpu: usize, level: usize, domain: &Domain| match like(cpu, level) {
            Some(like) => json!({"like": like}),
            None => domain.json(),
        };
        let domains = |(at, cpu): (usize, &Cpu)| {
            let levels = cpu.domains.iter().enumerate();
            (at.to_string(), Value::from(levels.map(|(level, sd)| domain(at, level, sd)).collect::<Vec<_>>()))
        };
        json!({
            "kernel": version,
            "topology": self.name(),
            "meta": meta,
            "cpu_llc": self.cpus.iter().map(|cpu| cpu.sd_llc_id).collect::<Vec<_>>(),
            "domains": self.cpus.iter().enumerate().map(domains).collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl Cpu {
    fn describe(skel: &mut RecordSkel<'_>, cpu: u32) -> Result<Self> {
        let mut domains = Vec::new();
        let (mut sd_llc_id, mut sd_llc_size, mut capacity_orig) = (cpu, 0, 0);
        for level in 0..MOST_LEVELS {
            let first = ask(skel, cpu, level, 0)?;
            sd_llc_id = u32::try_from(first.sd_llc_id).unwrap_or(cpu);
            (sd_llc_size, capacity_orig) = (first.sd_llc_size, first.cpu_capacity_orig);
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
        Ok(Cpu { sd_llc_id, sd_llc_size, capacity_orig, domains, llc_first: cpu as usize, llc_level: None })
    }
}

impl Domain {
    /// Whether this one is the other as `cpu` walks it: the reader turns that to the first group that holds it.
    fn turns_into(&self, other: &Domain, cpu: usize) -> bool {
        let holds = |group: &DomainPart| group.group[cpu / 64] >> (cpu % 64) & 1 != 0;
        let Some(first) = other.groups.iter().position(holds) else { return false };
        let turned = other.groups[first..].iter().chain(&other.groups[..first]);
        let same = |(a, b): (&DomainPart, &DomainPart)| {
            (a.group, a.group_capacity, a.group_flags) == (b.group, b.group_capacity, b.group_flags)
        };
        let about = |part: &DomainPart| (part.flags, part.imbalance_pct, part.imb_numa_nr, part.span, part.name);
        about(&self.part) == about(&other.part)
            && self.groups.len() == other.groups.len()
            && self.groups.iter().zip(turned).all(same)
    }

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
        domain: part.domain,
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
        sd_llc_size: part.sd_llc_size,
        cpu_capacity_orig: part.cpu_capacity_orig,
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
    use super::*;
    use bytemuck::Zeroable;

    /// A domain of four CPUs, each a group, walked from this CPU on.
    fn domain_of(cpu: usize) -> Domain {
        let group = |cpu: usize| {
            let mut part: DomainPart = Zeroable::zeroed();
            (part.span[0], part.span_weight, part.group[0], part.group_capacity) = (15, 4, 1 << cpu, 1024);
            part
        };
        let groups: Vec<_> = (0..4).map(|at| group((cpu + at) % 4)).collect();
        Domain { part: groups[0], groups }
    }

    fn machine() -> Machine {
        let cpu = |at: usize| Cpu {
            sd_llc_id: 0,
            sd_llc_size: 4,
            capacity_orig: 0,
            domains: vec![domain_of(at)],
            llc_first: 0,
            llc_level: Some(0),
        };
        Machine { nr_cpus: 4, cpus: (0..4).map(cpu).collect(), hz: 250 }
    }

    #[test]
    fn domains_that_are_walked_alike_are_said_once() {
        let mut machine = machine();
        let likes = |machine: &Machine| [0, 1, 2, 3].map(|cpu| machine.like(cpu, 0));
        assert_eq!(likes(&machine), [None, Some(0), Some(0), Some(0)]);
        // A capacity that differs, and an order that is no turn of the other.
        machine.cpus[1].domains[0].groups[2].group_capacity -= 1;
        machine.cpus[3].domains[0].groups.swap(1, 2);
        assert_eq!(likes(&machine), [None, None, Some(0), None]);
        let text = machine.described("7.2", &json!({}), |cpu, level| machine.like(cpu, level)).to_string();
        assert_eq!(text.matches(r#"{"like":0}"#).count(), 1, "{text}");
        assert!(machine.json("7.2", &json!({})).find("like").is_none(), "a small machine is described in full");
    }

    #[test]
    fn a_machine_is_another_one_when_its_domains_are() {
        let (before, mut after) = (machine(), machine());
        assert!(after.is(&before));
        after.cpus[3].domains.clear();
        assert!(!after.is(&before));
    }

    #[test]
    fn cpus_outside_domains_have_llcs_of_their_own() {
        let known = [Some(0), Some(0), None, Some(3), Some(3), None];
        assert_eq!(llcs_of(&known), [(0, 0), (0, 0), (2, 2), (3, 3), (3, 3), (5, 5)]);
        // Ids that are numbered without gaps may be those of CPUs outside.
        assert_eq!(llcs_of(&[Some(0), None, Some(1), Some(1)]), [(0, 0), (1, 5), (2, 1), (2, 1)]);
        assert_eq!(llcs_of(&[None]), [(0, 0)]);
    }
}
