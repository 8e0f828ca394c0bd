//! Why nothing can be recorded here: what is missing, and what to do about it. What libbpf logs is captured to find
//! out.

use libbpf_rs::{PrintLevel, get_print, set_print};
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_input::printable;

/// Something that recording needs is missing.
#[derive(Debug)]
pub struct Refusal {
    what: String,
    hint: String,
}

impl Refusal {
    /// A refusal: what is missing, and the next step.
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

/// Checks what can be checked before anything is loaded.
///
/// # Errors
/// Fails without root, without BTF, on a kernel before 5.13 and under lockdown=confidentiality.
pub fn check() -> Result<(), Refusal> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Refusal::new("recording needs root, to load BPF programs", "run it with sudo"));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Refusal::new(
            "this kernel has no BTF (/sys/kernel/btf/vmlinux is missing)",
            "boot a kernel that was built with CONFIG_DEBUG_INFO_BTF=y",
        ));
    }
    let release = release();
    if !is_new_enough(&release) {
        return Err(Refusal::new(
            format!(
                "kernel {} is too old: select_task_rq_fair() takes other arguments before 5.11, and BPF \
                 programs have no callbacks before 5.13",
                printable(&release)
            ),
            "5.13 and newer can be recorded",
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

/// The kernel's release (`uname -r`); empty if it cannot be read.
pub fn release() -> String {
    nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}

/// Whether a kernel of this release can be recorded.
pub fn is_new_enough(release: &str) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (parts.next(), parts.next()) >= (Some(5), Some(13))
}

/// Why the kernel refused a program, by libbpf's log. Lockdown is not a cause here: integrity mode forbids nothing that
/// is needed, and [`check`] has refused confidentiality mode.
pub fn load_refusal(error: &libbpf_rs::Error, log: &str) -> Refusal {
    if log.contains("'runqueues': not found") {
        return Refusal::new(
            "this kernel's BTF does not describe its per-CPU variables (runqueues)",
            "boot a kernel whose BTF was made with pahole 1.18 or newer",
        );
    }
    let unattached = ["on_entry", "on_exit"].map(|name| format!("prog '{name}': failed to attach"));
    if log.contains("BTF type ID of 'select_task_rq_fair'") || unattached.iter().any(|m| log.contains(m)) {
        return Refusal::new(
            "no program can be attached to select_task_rq_fair() in this kernel",
            "it must be built with CONFIG_FUNCTION_TRACER, and the function must not be inlined",
        );
    }
    Refusal::new(format!("the kernel rejects the program: {error}"), "run it with --verbose to see the verifier's log")
}

/// The log of libbpf since the capture began.
static LOG: Mutex<String> = Mutex::new(String::new());
/// Whether it is printed, too.
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Sets whether libbpf's log is printed.
pub fn print_libbpf_log(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

fn capture(_: PrintLevel, message: String) {
    if VERBOSE.load(Ordering::Relaxed) {
        for line in message.lines() {
            crate::say(&format!("{}\n", printable(line)));
        }
    }
    LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&message);
}

/// Calls `f`. Returns its result and what libbpf logged meanwhile.
pub fn capture_libbpf_log<T>(f: impl FnOnce() -> T) -> (T, String) {
    LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    let before = get_print();
    set_print(Some((PrintLevel::Info, capture)));
    let result = f();
    set_print(before);
    (result, std::mem::take(&mut *LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

#[cfg(test)]
mod tests {
    use super::{is_new_enough, load_refusal};

    #[test]
    fn a_refused_program_is_reported_with_its_cause() {
        let error = libbpf_rs::Error::from_raw_os_error(3);
        for (log, expected) in [
            ("libbpf: extern (var ksym) 'runqueues': not found in kernel BTF\n", "per-CPU variables (runqueues)"),
            ("libbpf: prog 'on_exit': failed to find kernel BTF type ID of 'select_task_rq_fair': -3\n", "attached"),
            ("libbpf: prog 'on_exit': failed to attach: -EBUSY\n", "attached"),
            ("libbpf: prog 'on_idle': failed to attach: -EBUSY\n", "rejects the program"),
        ] {
            assert!(load_refusal(&error, log).to_string().contains(expected), "{log}");
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
