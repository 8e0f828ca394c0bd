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
    let release = release();
    if !is_new_enough(&release) {
        return Err(Refusal::new(
            format!(
                "kernel {release} is too old: select_task_rq_fair() takes other arguments before 5.11, and BPF programs have \
                 no callbacks before 5.13"
            ),
            "5.13 or newer can be recorded",
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

/// The kernel's release; empty where it does not tell.
pub fn release() -> String {
    nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a kernel of this release can be recorded.
pub fn is_new_enough(release: &str) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(5), Some(13))
}

/// Says why the kernel took no program. Lockdown is none of the reasons: for integrity it forbids nothing that is needed
/// here, and for confidentiality [`check`] has refused by then.
pub fn of_load(error: &libbpf_rs::Error, messages: &str) -> Refusal {
    if messages.contains("'runqueues': not found") {
        return Refusal::new(
            "this kernel's BTF does not describe its per-CPU variables (runqueues)",
            "boot one whose BTF was made with pahole 1.18 or newer",
        );
    }
    let unattached = ["on_entry", "on_exit"].map(|name| format!("prog '{name}': failed to attach"));
    if messages.contains("BTF type ID of 'select_task_rq_fair'") || unattached.iter().any(|m| messages.contains(m)) {
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

#[cfg(test)]
mod tests {
    use super::{is_new_enough, of_load};

    #[test]
    fn what_libbpf_says_is_told_by_its_cause() {
        let error = libbpf_rs::Error::from_raw_os_error(3);
        for (messages, expected) in [
            ("libbpf: extern (var ksym) 'runqueues': not found in kernel BTF\n", "per-CPU variables (runqueues)"),
            ("libbpf: prog 'on_exit': failed to find kernel BTF type ID of 'select_task_rq_fair': -3\n", "attached"),
            ("libbpf: prog 'on_exit': failed to attach: -EBUSY\n", "attached"),
            ("libbpf: prog 'on_idle': failed to attach: -EBUSY\n", "does not take the program"),
        ] {
            assert!(of_load(&error, messages).to_string().contains(expected), "{messages}");
        }
    }

    #[test]
    fn kernels_from_5_13_are_new_enough() {
        for (release, new) in [
            ("5.10.0-32-cloud-amd64", false),
            ("5.12.1", false),
            ("5.13.0", true),
            ("6.1.0-50", true),
            ("7.2.12+deb13", true),
            ("4.19", false),
        ] {
            assert_eq!(is_new_enough(release), new, "{release}");
        }
    }
}
