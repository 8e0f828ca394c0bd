//! Why the kernel has disabled the scheduler.
//!
//! scx_utils has the same, but reads the variables through a reference while the kernel may write them, stops at a name
//! that is not UTF-8, and prints names of tasks as they are.

use crate::bpf_skel::types::user_exit_info;
use crate::messages::say;
use anyhow::{Result, bail};
use scx_utils::{SCX_ECODE_ACT_RESTART, ScxExitKind, UEI_DUMP_PTR_MUTEX, compat};
use std::ffi::CStr;
use std::sync::PoisonError;
use wakelab_input::printable;

/// The kernel's report about the end of a scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// `enum scx_exit_kind`; 0 if the scheduler was not enabled.
    kind: i32,
    /// The argument of `scx_bpf_exit()`; 0 if this kernel has no such field.
    code: i64,
    /// The CPU on which the end was triggered, if the kernel reports it.
    cpu: Option<i32>,
    reason: String,
    message: String,
    /// The dump of all run queues; empty if there is none.
    dump: String,
}

impl Exit {
    /// Reads what the program has copied of `struct scx_exit_info`, and the kernel's dump.
    pub fn of(info: &user_exit_info) -> Self {
        let has = |field| compat::struct_has_field("scx_exit_info", field).unwrap_or(false);
        let dump = UEI_DUMP_PTR_MUTEX.lock().unwrap_or_else(PoisonError::into_inner).ptr;
        // SAFETY: the pointer is null or to the memory of a map, which the kernel has ended with a NUL and writes no
        // more.
        let dump = (!dump.is_null()).then(|| unsafe { CStr::from_ptr(dump) }.to_string_lossy().into_owned());
        Exit {
            kind: info.kind,
            code: if has("exit_code") { info.exit_code } else { 0 },
            cpu: has("exit_cpu").then_some(info.exit_cpu).filter(|&cpu| cpu >= 0),
            reason: text(&info.reason),
            message: text(&info.msg),
            dump: dump.unwrap_or_default(),
        }
    }

    /// Prints the reason, and the dump before it if there is one.
    ///
    /// # Errors
    /// Fails with the reason if the kernel has disabled the scheduler because of an error.
    pub fn report(&self) -> Result<()> {
        if self.kind == 0 {
            return Ok(());
        }
        for line in self.dump.lines() {
            // The dump is indented by tabs.
            say(&line.split('\t').map(printable).collect::<Vec<_>>().join("\t"));
        }
        let reason = self.reason();
        if self.kind > ScxExitKind::UnregKern as i32 {
            bail!(reason);
        }
        say(&reason);
        Ok(())
    }

    /// The reason in a line. It may have names of tasks, so it is escaped.
    fn reason(&self) -> String {
        let message = if self.message.is_empty() { String::new() } else { format!(" ({})", printable(&self.message)) };
        let cpu = self.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
        format!("EXIT: {}{message}{cpu}", printable(&self.reason))
    }

    /// Whether the scheduler has to start again, as after hotplug of a CPU that it did not know.
    pub fn should_restart(&self) -> bool {
        let by_code = [ScxExitKind::UnregBPF as i32, ScxExitKind::UnregKern as i32].contains(&self.kind);
        by_code && self.code & *SCX_ECODE_ACT_RESTART as i64 != 0
    }
}

/// The text up to its NUL.
fn text(bytes: &[i8]) -> String {
    let bytes: Vec<u8> = bytes.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_reason_cannot_command_the_terminal() {
        let mut info = user_exit_info { kind: 1026, ..Default::default() };
        for (to, &byte) in info.msg.iter_mut().zip(b"\x1b]0;x\x07\xff[12] failed to run for 21.5s") {
            *to = byte as i8;
        }
        for (to, &byte) in info.reason.iter_mut().zip(b"runnable task stall") {
            *to = byte as i8;
        }
        let exit = Exit { reason: text(&info.reason), message: text(&info.msg), kind: info.kind, ..Exit::default() };
        let told = exit.report().unwrap_err().to_string();
        assert_eq!(told, "EXIT: runnable task stall (\\u{1b}]0;x\\u{7}\u{fffd}[12] failed to run for 21.5s)");
        assert!(!exit.should_restart());
        assert!(Exit::default().report().is_ok());
    }
}
