//! The description of the machine in a recording: the scheduling domains that 7.2 would build. The program decides as
//! 7.2 does, whatever kernel runs.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{
    DomainOptions, LlcId, SchedDomain, SchedDomains, SchedGroup, Topology, build_sched_domains,
};

/// The version whose decisions the program makes.
pub const VERSION: &str = "7.2";

/// The preset of that version.
fn preset() -> Result<&'static Preset> {
    Preset::of_release(VERSION).map_err(Into::into)
}

/// Builds the domains.
///
/// # Errors
/// Fails if the topology contradicts itself.
pub fn build(topology: &Topology) -> Result<SchedDomains> {
    build_sched_domains(topology, &DomainOptions::of(preset()?)).context("the machine's topology")
}

/// The domains in the form of a topo file.
///
/// # Errors
/// Fails if that version does not have one of the flags, which would be a bug.
pub fn json(name: &str, domains: &SchedDomains, meta: Value) -> Result<Value> {
    let preset = preset()?;
    let (flags, pkg_name) = (preset.sd_flags.names, DomainOptions::of(preset).rules.pkg_name);
    let group = |group: &SchedGroup| -> Result<Value> {
        Ok(json!({
            "mask": hex(&group.span),
            "weight": group.weight,
            "capacity": group.capacity,
            "flags": format!("{:x}", group.flags.to_raw(flags)?),
        }))
    };
    let domain = |sd: &SchedDomain| -> Result<Value> {
        Ok(json!({
            "name": sd.level.name(pkg_name),
            "flags": format!("{:x}", sd.flags.to_raw(flags)?),
            "imbalance_pct": sd.imbalance_pct,
            "imb_numa_nr": sd.imb_numa_nr,
            "span": hex(&sd.span),
            "span_weight": sd.span_weight,
            "groups": sd.groups().map(group).collect::<Result<Vec<_>>>()?,
        }))
    };
    let mut by_cpu = serde_json::Map::new();
    for (at, of_cpu) in domains.domains.iter().enumerate() {
        by_cpu.insert(at.to_string(), Value::from(of_cpu.iter().map(domain).collect::<Result<Vec<_>>>()?));
    }
    Ok(json!({
        "kernel": VERSION,
        "topology": name,
        "meta": meta,
        "cpu_llc": domains.kernel_llc_ids(LlcId::Dense),
        "domains": by_cpu,
    }))
}

fn hex(mask: &CpuMask) -> String {
    let highest = mask.iter().last().unwrap_or(0) as usize / 64;
    let mut words = vec![0_u64; highest + 1];
    for cpu in mask.iter() {
        words[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    let rest: String = words[..highest].iter().rev().map(|word| format!("{word:016x}")).collect();
    format!("{:x}{rest}", words[highest])
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_sched::domain::Uniform;

    #[test]
    fn what_is_written_is_read() {
        for uniform in
            [Uniform { llcs: 2, ..Uniform::new(4, 2) }, Uniform { packages: 2, nodes: 2, ..Uniform::new(18, 2) }]
        {
            let options = DomainOptions::of(preset().unwrap());
            let domains = build_sched_domains(&uniform.topology(), &options).unwrap();
            let text = json("machine", &domains, Value::Null).unwrap().to_string();
            let read = wakelab_events::TopoFile::parse(std::path::Path::new("test"), &text).unwrap();
            assert_eq!(read.domains.sd_llc_id, domains.sd_llc_id);
            assert_eq!(read.domains.domains.len(), domains.domains.len());
        }
    }

    #[test]
    fn capacities_and_who_decided_are_read() {
        let mut topology = Uniform::new(4, 1).topology();
        for cpu in &mut topology.cpus[2..] {
            cpu.capacity = 512;
        }
        let domains = build_sched_domains(&topology, &DomainOptions::of(preset().unwrap())).unwrap();
        let text = json("machine", &domains, json!({ "scheduler": "scx_wakelab 0" })).unwrap().to_string();
        let read = wakelab_events::TopoFile::parse(std::path::Path::new("test"), &text).unwrap();
        assert!(read.domains.asym_cpucap_active);
        assert_eq!(read.domains.sd_asym_cpucapacity(0), domains.sd_asym_cpucapacity(0));
        assert_eq!(read.scheduler.as_deref(), Some("scx_wakelab 0"));
    }
}
