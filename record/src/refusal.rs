//! Why nothing can be recorded here: what is missing, and what to do about it.

use std::fmt;
use std::fs;
use std::path::Path;

/// Something that recording needs is not there.
#[derive(Debug)]
pub struct Refusal {
    what: String,
    hint: String,
}

impl Refusal {
    /// What is missing, and the next step.
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.hint)
    }
}

impl std::error::Error for Refusal {}

/// Looks for what can be seen before anything is loaded.
pub fn check() -> Result<(), Refusal> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Refusal::new("recording needs root (BPF programs are loaded)", "run it with sudo"));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Refusal::new(
            "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing)",
            "boot one that was built with CONFIG_DEBUG_INFO_BTF=y",
        ));
    }
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[confidentiality]") {
        return Err(Refusal::new(
            "this kernel is locked down (confidentiality): BPF programs may not read its memory",
            "boot it without lockdown=confidentiality (Secure Boot may set it)",
        ));
    }
    Ok(())
}

/// Says why the kernel took no program.
pub fn of_load(error: &libbpf_rs::Error, messages: &str) -> Refusal {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    if lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]") {
        return Refusal::new(
            format!("this kernel is locked down and refuses the program ({error})"),
            "boot it without lockdown= (Secure Boot may set it)",
        );
    }
    if messages.contains("'runqueues': not found") {
        return Refusal::new(
            "this kernel's BTF does not describe its per-CPU variables (runqueues)",
            "boot one whose BTF was made with pahole 1.22 or newer; Debian's 5.10 is older",
        );
    }
    if messages.contains("'select_task_rq_fair'") {
        return Refusal::new(
            "select_task_rq_fair() cannot be attached to in this kernel",
            "was it built with CONFIG_FUNCTION_TRACER, and is the function not inlined?",
        );
    }
    Refusal::new(
        format!("the kernel does not take the program: {error}"),
        "run it with --verbose to see what it says of the program",
    )
}
