//! Why the scheduler cannot run here, in one line: what is missing, and the next step.

use scx_utils::compat;
use std::fmt;
use std::path::Path;
use wakelab_input::printable;

/// Something that the scheduler needs is missing.
#[derive(Debug)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// The kfuncs that the program needs. For others it has a fallback or a second name.
const NEEDED: [&str; 3] = ["scx_bpf_create_dsq", "scx_bpf_kick_cpu", "scx_bpf_dsq_nr_queued"];

/// Checks what can be checked before anything is loaded.
///
/// # Errors
/// Fails if something is missing.
pub fn check() -> Result<(), Refusal> {
    let refuse = |what: &str| Err(Refusal(what.to_owned()));
    if !rustix::process::geteuid().is_root() {
        return refuse("loading a scheduler needs root; run it with sudo");
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return refuse("this kernel has no BTF (/sys/kernel/btf/vmlinux); boot one built with CONFIG_DEBUG_INFO_BTF=y");
    }
    if !Path::new("/sys/kernel/sched_ext").exists() {
        return refuse(
            "this kernel has no sched_ext; boot one from 6.12 on that was built with CONFIG_SCHED_CLASS_EXT=y",
        );
    }
    let state = std::fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default();
    if state.trim() != "disabled" {
        let name = std::fs::read_to_string("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
        return Err(Refusal(format!(
            "a sched_ext scheduler is already running ({}, {}); end it first",
            printable(name.trim()),
            printable(state.trim())
        )));
    }
    let missing: Vec<&str> = NEEDED.into_iter().filter(|name| !compat::ksym_exists(name).unwrap_or(false)).collect();
    if !missing.is_empty() {
        return Err(Refusal(format!("this kernel lacks {}; 6.13 and newer have them", missing.join(", "))));
    }
    let malformed = compat::malformed_scx_kfuncs();
    let bad: Vec<&str> = NEEDED.into_iter().filter(|name| malformed.iter().any(|bad| bad == name)).collect();
    if !bad.is_empty() {
        return Err(Refusal(format!(
            "this kernel's BTF describes {} in a form that programs cannot call (pahole lost their tags in the build); \
             boot another build of it",
            bad.join(", ")
        )));
    }
    Ok(())
}

/// Why the kernel refused the program, by libbpf's log.
pub fn of_load(error: &anyhow::Error, log: &str) -> Refusal {
    let lockdown = std::fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
        return Refusal("this kernel is locked down and refuses the program; boot it without lockdown=".into());
    }
    if let Some(line) = log
        .lines()
        .find(|line| line.contains("incompatible with vmlinux") || line.contains("not found in kernel or module BTFs"))
    {
        let name = line.split('\'').nth(1).unwrap_or("a function");
        return Refusal(format!(
            "this kernel lacks {name} in the form that the program calls; boot another build or version of it"
        ));
    }
    if let Some(line) = log.lines().find(|line| line.contains("failed to load: ")) {
        let name = line.split('\'').nth(1).unwrap_or("?");
        return Refusal(format!("the kernel's verifier rejects {name}; --verbose prints its log"));
    }
    Refusal(format!("the kernel rejects the program: {error:#}; --verbose prints its log").replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_libbpf_becomes_a_line() {
        let error = anyhow::anyhow!("Failed to load BPF program");
        for (log, expected) in [
            ("libbpf: extern (func ksym) 'scx_bpf_x': func_proto [1] incompatible with vmlinux [2]\n", "scx_bpf_x"),
            ("0: (85) call x\nlibbpf: prog 'wakelab_tick': failed to load: -EACCES\n", "verifier rejects wakelab_tick"),
            ("", "Failed to load BPF program"),
        ] {
            let text = of_load(&error, log).to_string();
            assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        }
    }
}
