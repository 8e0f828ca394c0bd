//! The machine: its scheduling domains as the kernel has built them.

use crate::bpf_program::{OpenRecordSkel, RecordSkel, RecordSkelBuilder};
use crate::bpf_variables::BpfVariables;
use crate::kernel::hz_from_samples;
use crate::refusal::{capture_libbpf_log, load_refusal};
use crate::wire::{DomainPart, MAX_CPUS, c_string};
use anyhow::{Context, Result, bail};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{OpenObject, ProgramInput};
use serde_json::{Value, json};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A description of the machine.
pub struct Machine {
    /// The number of possible CPUs, online or not.
    pub nr_cpus: usize,
    /// The CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// `HZ` of the kernel.
    pub hz: u32,
}

/// A CPU.
pub struct Cpu {
    /// `sd_llc_id`; a unique number for a CPU without domains.
    pub sd_llc_id: u32,
    /// `sd_llc_size`.
    pub sd_llc_size: i32,
    /// `rq->cpu_capacity_orig`; 0 if this kernel does not have it (since 6.7).
    pub capacity_orig: u32,
    /// Its domains, from the lowest.
    pub domains: Vec<Domain>,
    /// The first CPU of its LLC.
    pub llc_first: usize,
    /// The level of the domain of the LLC; `None` if there is none.
    pub llc_level: Option<usize>,
}

/// A domain, with its groups in the order of its circular list, from the CPU's own group on.
pub struct Domain {
    part: DomainPart,
    groups: Vec<DomainPart>,
}

/// More levels than a kernel builds.
const MAX_LEVELS: u32 = 12;

/// Reads the domains from the kernel with the BPF program `describe`.
pub struct Describer<'a> {
    variables: BpfVariables<'a>,
    skel: RecordSkel<'a>,
    nr_cpus: usize,
    hz: u32,
}

/// A description longer than this, in bytes, refers to equal domains (`like`) instead of repeating them. Each segment
/// has a copy.
const MAX_FULL_DESCRIPTION: usize = 32 << 10;

/// The number of the first description. Numbers are even; an odd one means that the description is being replaced.
pub const FIRST_DESCRIPTION: u32 = 2;

/// How often a description is retried if the domains change meanwhile. The kernel rebuilds them within milliseconds.
const ATTEMPTS: usize = 100;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl<'a> Describer<'a> {
    /// Loads the program `describe`.
    pub fn load(place: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        let nr_cpus = libbpf_rs::num_possible_cpus().context("/sys/devices/system/cpu/possible cannot be read")?;
        if nr_cpus > MAX_CPUS {
            bail!("expected at most {MAX_CPUS} CPUs, found {nr_cpus}");
        }
        let mut open = open(place)?;
        load_only(&mut open, "describe");
        // These maps are large, and `describe` does not use them.
        open.maps.scratches.set_max_entries(1)?;
        open.maps.ring.set_max_entries(1 << 16)?;
        let rodata = open.maps.rodata_data.as_mut().context("the program has no constants")?;
        rodata.nr_cpus = nr_cpus as u32;
        let (loaded, log) = capture_libbpf_log(|| open.load());
        let mut skel = loaded.map_err(|e| load_refusal(&e, &log))?;
        let variables = BpfVariables::take(&mut skel.maps.bss_data)?;
        let mut describer = Describer { variables, skel, nr_cpus, hz: 0 };
        describer.hz = describer.measure_hz()?;
        Ok(describer)
    }

    /// Describes the machine as it is now: reads the domains until two consecutive reads agree.
    pub fn describe(&mut self) -> Result<Machine> {
        let mut before = self.read_once()?;
        for _ in 0..ATTEMPTS {
            let now = self.read_once()?;
            if now.same_domains(&before) {
                return Ok(now);
            }
            before = now;
            std::thread::sleep(RETRY_INTERVAL);
        }
        bail!("the scheduling domains are being rebuilt all the time; is something taking CPUs offline and online?")
    }

    fn read_once(&self) -> Result<Machine> {
        let mut cpus = Vec::new();
        for cpu in 0..self.nr_cpus {
            cpus.push(self.cpu(cpu as u32)?);
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
    fn cpu(&self, cpu: u32) -> Result<Cpu> {
        let mut domains = Vec::new();
        let (mut sd_llc_id, mut sd_llc_size, mut capacity_orig) = (cpu, 0, 0);
        for level in 0..MAX_LEVELS {
            let first = self.domain_part(cpu, level, 0)?;
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
                groups.push(self.domain_part(cpu, level, last.next_group)?);
            }
            domains.push(Domain { part: first, groups });
        }
        Ok(Cpu { sd_llc_id, sd_llc_size, capacity_orig, domains, llc_first: cpu as usize, llc_level: None })
    }

    /// Describes one group of a domain; `group` is its address, or 0 for the first group.
    fn domain_part(&self, cpu: u32, level: u32, group: u64) -> Result<DomainPart> {
        self.variables.ask_cpu().store(cpu, Ordering::SeqCst);
        self.variables.ask_level().store(level, Ordering::SeqCst);
        self.variables.ask_group().store(group, Ordering::SeqCst);
        self.skel.progs.describe.test_run(ProgramInput::default()).context("the kernel does not run the program")?;
        let part = self.variables.part();
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
            name: part.name.map(|byte| byte as u8),
        })
    }

    /// Measures `HZ` by counting jiffies. No file with its value exists on every kernel.
    fn measure_hz(&self) -> Result<u32> {
        let sample = || -> Result<(u64, u64)> {
            self.domain_part(0, 0, 0)?;
            let variables = &self.variables;
            Ok((variables.now_jiffies().load(Ordering::Acquire), variables.now_ns().load(Ordering::Acquire)))
        };
        let first = sample()?;
        std::thread::sleep(Duration::from_millis(200));
        Ok(hz_from_samples([first, sample()?]))
    }
}

impl Machine {
    /// The values that two descriptions have in common if nothing was rebuilt between them: the addresses and the
    /// spans of the domains.
    fn identity(&self) -> Vec<(u64, u64, Vec<u64>)> {
        let of_cpu = |cpu: &Cpu| {
            let own = (cpu.sd_llc_id.into(), cpu.sd_llc_size as u64, Vec::new());
            let domains = cpu.domains.iter().map(|sd| (sd.part.domain, sd.part.first_group, sd.part.span.to_vec()));
            domains.chain([own]).collect::<Vec<_>>()
        };
        self.cpus.iter().flat_map(of_cpu).collect()
    }

    /// Whether no domain was rebuilt between the two descriptions.
    pub fn same_domains(&self, other: &Machine) -> bool {
        self.identity() == other.identity()
    }

    /// Writes the description to the variables of the programs, under an even number above the last one.
    pub fn publish(&self, variables: &BpfVariables<'_>, number: u32) {
        variables.machine().store(number - 1, Ordering::SeqCst);
        variables.machine_changed().store(0, Ordering::SeqCst);
        for (at, cpu) in self.cpus.iter().enumerate() {
            let domain = cpu.domains.first().map_or(0, |domain| domain.part.domain);
            variables.domain_of(at).store(domain, Ordering::SeqCst);
            variables.llc_first(at).store(cpu.llc_first as i32, Ordering::SeqCst);
            variables.llc_level(at).store(cpu.llc_level.map_or(-1, |level| level as i32), Ordering::SeqCst);
        }
        variables.machine().store(number, Ordering::SeqCst);
    }

    /// Finds the domain of each LLC: the one that spans the CPUs of the LLC and no others.
    fn find_llcs(&mut self) {
        let llcs: Vec<usize> = self.cpus.iter().map(|cpu| cpu.llc_first).collect();
        for cpu in &mut self.cpus {
            let size = llcs.iter().filter(|&&first| first == cpu.llc_first).count();
            cpu.llc_level = cpu.domains.iter().position(|domain| domain.part.span_weight as usize == size);
        }
    }

    /// The first CPU of each LLC, with `sd_llc_id`.
    pub fn llcs(&self) -> Vec<(usize, u32)> {
        let firsts = (0..self.nr_cpus).filter(|&cpu| self.cpus[cpu].llc_first == cpu);
        firsts.map(|cpu| (cpu, self.cpus[cpu].sd_llc_id)).collect()
    }

    /// By CPU: `arch_scale_cpu_capacity()`, 1024 for the largest CPU.
    pub fn capacities(&self) -> Vec<u32> {
        let of = |(at, cpu): (usize, &Cpu)| {
            let path = format!("/sys/devices/system/cpu/cpu{at}/cpu_capacity");
            let sysfs = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
            sysfs.unwrap_or(if cpu.capacity_orig == 0 { 1024 } else { cpu.capacity_orig })
        };
        self.cpus.iter().enumerate().map(of).collect()
    }

    /// A name of the machine, made of its CPUs and LLCs.
    pub fn name(&self) -> String {
        format!("{}cpus-{}llcs", self.nr_cpus, self.llcs().len())
    }

    /// The description in JSON, as in a topo file (docs/formats.md). Of large machines equal domains are
    /// written once.
    pub fn json(&self, version: &str, meta: &Value) -> String {
        let full = self.json_value(version, meta, |_, _| None).to_string();
        if full.len() <= MAX_FULL_DESCRIPTION {
            full
        } else {
            self.json_value(version, meta, |cpu, level| self.like(cpu, level)).to_string()
        }
    }

    /// The first CPU of this CPU's domain at this level, if its domain is equal except for the group that the list
    /// starts with, and it is not the CPU itself.
    fn like(&self, cpu: usize, level: usize) -> Option<usize> {
        let own = &self.cpus[cpu].domains[level];
        let first = own.part.span.iter().enumerate().find(|(_, word)| **word != 0);
        let first = first.map(|(at, word)| at * 64 + word.trailing_zeros() as usize)?;
        let other = self.cpus.get(first).filter(|_| first < cpu)?.domains.get(level)?;
        own.is_rotation_of(other, cpu).then_some(first)
    }

    fn json_value(&self, version: &str, meta: &Value, like: impl Fn(usize, usize) -> Option<usize>) -> Value {
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

impl Domain {
    /// Whether this domain is the other one with its groups rotated, so that the first group has `cpu` in it. The
    /// reader rotates them likewise.
    fn is_rotation_of(&self, other: &Domain, cpu: usize) -> bool {
        let holds = |group: &DomainPart| group.group[cpu / 64] >> (cpu % 64) & 1 != 0;
        let Some(first) = other.groups.iter().position(holds) else { return false };
        let rotated = other.groups[first..].iter().chain(&other.groups[..first]);
        let same = |(a, b): (&DomainPart, &DomainPart)| {
            (a.group, a.group_capacity, a.group_flags) == (b.group, b.group_capacity, b.group_flags)
        };
        let about = |part: &DomainPart| (part.flags, part.imbalance_pct, part.imb_numa_nr, part.span, part.name);
        about(&self.part) == about(&other.part)
            && self.groups.len() == other.groups.len()
            && self.groups.iter().zip(rotated).all(same)
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
            "name": c_string(&self.part.name),
            "flags": format!("{:x}", self.part.flags),
            "imbalance_pct": self.part.imbalance_pct,
            "imb_numa_nr": self.part.imb_numa_nr,
            "span": mask(&self.part.span),
            "span_weight": self.part.span_weight,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
        })
    }
}

/// By CPU: the first CPU of its LLC, and the LLC's id. A CPU without domains (never online, isolcpus=) has no LLC. The
/// kernel leaves its `sd_llc_id` 0, which is the id of CPU 0's LLC, so it gets another one here.
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

/// Opens the embedded object. Nothing is loaded yet.
pub fn open(place: &mut MaybeUninit<OpenObject>) -> Result<OpenRecordSkel<'_>> {
    RecordSkelBuilder::default().open(place).context("the embedded program cannot be opened")
}

/// Loads no other program than this one.
fn load_only(open: &mut OpenRecordSkel<'_>, name: &str) {
    for mut program in open.open_object_mut().progs_mut() {
        let keep = program.name() == name;
        program.set_autoload(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    /// A domain of four CPUs, each a group, with the group of this CPU first.
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
    fn equal_domains_are_written_once() {
        let mut machine = machine();
        let likes = |machine: &Machine| [0, 1, 2, 3].map(|cpu| machine.like(cpu, 0));
        assert_eq!(likes(&machine), [None, Some(0), Some(0), Some(0)]);
        // A capacity that differs, and an order that is no rotation of the other.
        machine.cpus[1].domains[0].groups[2].group_capacity -= 1;
        machine.cpus[3].domains[0].groups.swap(1, 2);
        assert_eq!(likes(&machine), [None, None, Some(0), None]);
        let text = machine.json_value("7.2", &json!({}), |cpu, level| machine.like(cpu, level)).to_string();
        assert_eq!(text.matches(r#"{"like":0}"#).count(), 1, "{text}");
        assert!(machine.json("7.2", &json!({})).find("like").is_none(), "a small machine is described in full");
    }

    #[test]
    fn a_machine_is_another_one_when_its_domains_are() {
        let (before, mut after) = (machine(), machine());
        assert!(after.same_domains(&before));
        after.cpus[3].domains.clear();
        assert!(!after.same_domains(&before));
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
