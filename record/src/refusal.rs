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
    let release =
        nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default();
    if !is_new_enough(&release) {
        return Err(Refusal::new(
            format!("select_task_rq_fair() takes other arguments in kernel {release}"),
            "5.11 or newer can be recorded",
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

/// Whether the kernel is locked down, in either way.
fn locked_down() -> bool {
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    lockdown.contains("[integrity]") || lockdown.contains("[confidentiality]")
}

/// Says why the scheduler's features cannot be read.
pub fn of_features() -> Refusal {
    if locked_down() {
        return Refusal::new(
            "this kernel is locked down: the scheduler's features (debugfs) cannot be read",
            "boot it without lockdown= (Secure Boot may set it)",
        );
    }
    Refusal::new(
        "the scheduler's features cannot be read (/sys/kernel/debug/sched/features)",
        "mount -t debugfs debugfs /sys/kernel/debug",
    )
}

fn is_new_enough(release: &str) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(5), Some(11))
}

/// Says why the kernel took no program.
pub fn of_load(error: &libbpf_rs::Error, messages: &str) -> Refusal {
    if locked_down() {
        return Refusal::new(
            format!("this kernel is locked down and refuses the program ({error})"),
            "boot it without lockdown= (Secure Boot may set it)",
        );
    }
    if messages.contains("'runqueues': not found") {
        return Refusal::new(
            "this kernel's BTF does not describe its per-CPU variables (runqueues)",
            "boot one whose BTF was made with pahole 1.18 or newer",
        );
    }
    if messages.contains("BTF type ID of 'select_task_rq_fair'") {
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
    use super::is_new_enough;

    #[test]
    fn kernels_from_5_11_are_new_enough() {
        for (release, new) in [
            ("5.10.0-32-cloud-amd64", false),
            ("5.11.0", true),
            ("6.1.0-50", true),
            ("7.2.12+deb13", true),
            ("4.19", false),
        ] {
            assert_eq!(is_new_enough(release), new, "{release}");
        }
    }
}
