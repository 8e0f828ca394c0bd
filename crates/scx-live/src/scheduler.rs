//! A scheduler's object under the kernel that runs here, with what its own loader would set.

use anyhow::{Context, Result, bail};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::{Link, MapCore, MapFlags, MapMut, MapType, Object, ObjectBuilder, ProgramInput};
use std::path::Path;
use wakelab_scx_bpf::Live;

/// A scheduler that is enabled. The kernel disables it when this is dropped.
pub struct Scheduler {
    _link: Link,
    _object: Object,
}

/// Where `flags` is in the object's own `struct sched_ext_ops`, bytes.
fn flags_at(path: &Path) -> Result<usize> {
    let btf = Btf::from_path(path).context("its BTF")?;
    let ops: Struct<'_> = btf.type_by_name("sched_ext_ops").context("it has no struct sched_ext_ops")?;
    let at = ops.iter().find(|member| member.name.is_some_and(|name| name == "flags")).context("no ops.flags")?;
    match at.attr {
        libbpf_rs::btf::types::MemberAttr::Normal { offset } => Ok(offset as usize / 8),
        libbpf_rs::btf::types::MemberAttr::BitField { .. } => bail!("ops.flags is a bit field"),
    }
}

impl Scheduler {
    /// Loads and enables the scheduler of an object.
    ///
    /// # Errors
    /// Fails if the object lacks something that is to be set, or the kernel refuses it.
    pub fn start(path: &Path, live: &Live) -> Result<Self> {
        let flags_at = flags_at(path)?;
        let mut open = ObjectBuilder::default().open_file(path).context("the object cannot be opened")?;
        let mut struct_ops = false;
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            if map.map_type() == MapType::StructOps && name == live.struct_ops {
                let value = map.initial_value_mut().context("the struct_ops have no value")?;
                value[flags_at..flags_at + 8].copy_from_slice(&live.flags.to_ne_bytes());
                struct_ops = true;
            }
            // libbpf puts the beginning of the object's name before the three plain sections.
            let of = |section: &str| name == section || name.strip_suffix(section).is_some_and(|of| !of.contains('.'));
            let found = live.sections.iter().find(|(section, _)| section != ".kconfig" && of(section));
            let Some((section, bytes)) = found else { continue };
            // An arena has room for what is put there, and no size of values.
            if map.map_type() != MapType::Arena && map.value_size() as usize != bytes.len() {
                map.set_value_size(bytes.len() as u32).with_context(|| format!("size of {section}"))?;
            }
            // libbpf rounds sections up to a page for itself, and checks their size.
            let value = map.initial_value_mut().with_context(|| format!("{section} has no value"))?;
            if value.len() < bytes.len() {
                bail!("{section} has {} bytes, expected {}", value.len(), bytes.len());
            }
            value[..bytes.len()].copy_from_slice(bytes);
        }
        if !struct_ops {
            bail!("the object has no struct_ops {}", live.struct_ops);
        }
        let mut object = open.load().context("the kernel rejects it")?;
        for (name, key, value) in &live.elements {
            let map = object.maps().find(|map| map.name() == *name).with_context(|| format!("it has no map {name}"))?;
            map.update(key, value, MapFlags::ANY).with_context(|| format!("map {name}"))?;
        }
        for (name, context) in &live.programs {
            run(&object, name, context)?;
        }
        let is_ops = |map: &MapMut<'_>| map.name() == live.struct_ops.as_str();
        let link = object.maps_mut().find(is_ops).context("the struct_ops are gone")?.attach_struct_ops();
        let link = link.context("the kernel refuses to enable it")?;
        for (cpu, name, context) in &live.after_attach {
            let before = affinity()?;
            pin(&only(*cpu))?;
            run(&object, name, context)?;
            pin(&before)?;
        }
        Ok(Scheduler { _link: link, _object: object })
    }

    /// Whether the kernel has it enabled.
    pub fn is_enabled(&self) -> bool {
        state() == "enabled"
    }
}

/// Runs a program of `SEC("syscall")`.
fn run(object: &Object, name: &str, context: &[u8]) -> Result<()> {
    let program = object.progs_mut().find(|program| program.name() == name);
    let program = program.with_context(|| format!("it has no program {name}"))?;
    let mut context = context.to_vec();
    let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
    let output = program.test_run(input).with_context(|| format!("program {name}"))?;
    if output.return_value != 0 {
        bail!("program {name} returned {}", output.return_value as i32);
    }
    Ok(())
}

fn affinity() -> Result<libc::cpu_set_t> {
    // SAFETY: a set without CPUs is all zeros.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as is said.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Err(std::io::Error::last_os_error()).context("sched_getaffinity");
    }
    Ok(set)
}

fn only(cpu: u32) -> libc::cpu_set_t {
    // SAFETY: a set without CPUs is all zeros, and has room for the guest's.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        set
    }
}

fn pin(set: &libc::cpu_set_t) -> Result<()> {
    // SAFETY: the set is as large as is said.
    if unsafe { libc::sched_setaffinity(0, size_of_val(set), set) } != 0 {
        return Err(std::io::Error::last_os_error()).context("sched_setaffinity");
    }
    Ok(())
}

/// `/sys/kernel/sched_ext/state`.
pub fn state() -> String {
    std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default().trim().to_owned()
}

/// `/sys/kernel/sched_ext/root/events`: what the kernel has counted, by name. Empty if no scheduler is enabled.
pub fn events() -> Vec<(String, i64)> {
    let text = std::fs::read_to_string("/sys/kernel/sched_ext/root/events").unwrap_or_default();
    let line = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Returns the messages about sched_ext in the kernel's log: how a scheduler ended.
pub fn log() -> Vec<String> {
    let mut buffer = vec![0_u8; 1 << 20];
    const SYSLOG_ACTION_READ_ALL: i32 = 3;
    // SAFETY: the buffer is as long as is said.
    let read = unsafe { libc::klogctl(SYSLOG_ACTION_READ_ALL, buffer.as_mut_ptr().cast(), buffer.len() as i32) };
    buffer.truncate(read.max(0) as usize);
    let text = String::from_utf8_lossy(&buffer).into_owned();
    text.lines().filter(|line| line.contains("sched_ext: ")).map(str::to_owned).collect()
}
