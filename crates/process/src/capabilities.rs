//! The capabilities of a program of root once its BPF programs are loaded.
//!
//! Loading needs many capabilities, and a folder below that of a user is made and removed with CAP_DAC_OVERRIDE. After
//! that the program encodes records that tasks of any user have shaped, and writes them to files that are its own.
//! Links of BPF programs are closed, files of root in `/sys` and `/proc` are read by their owner, and both need no
//! capability.

use rustix::io;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// What is left: CAP_BPF and CAP_PERFMON to run a BPF program once (`BPF_PROG_TEST_RUN`, where unprivileged BPF is off)
/// and to read its statistics, CAP_KILL to end a command that has changed its user.
const NEEDED: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::PERFMON).union(CapabilitySet::KILL);

/// Drops the capabilities that are not needed while records are written, from the effective set. From the permitted set
/// too, but for `later`, which [`restore`] makes effective again. Threads that are started later have the same. A
/// command that is started later and runs as root has all of them again, since the bounding set stays.
///
/// # Errors
/// Those of the kernel.
pub fn drop_unneeded(later: CapabilitySet) -> io::Result<()> {
    let now = capabilities(None)?;
    let (effective, permitted) = (now.effective & NEEDED, now.permitted & (NEEDED | later));
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable: now.inheritable & permitted })
}

/// Makes all permitted capabilities effective again.
///
/// # Errors
/// Those of the kernel.
pub fn restore() -> io::Result<()> {
    let now = capabilities(None)?;
    set_capabilities(None, CapabilitySets { effective: now.permitted, ..now })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, as capabilities are those of a thread. Without root there are none to be dropped.
    #[test]
    fn only_what_is_needed_is_left() {
        let thread = std::thread::spawn(|| {
            let before = capabilities(None).unwrap();
            drop_unneeded(CapabilitySet::all()).unwrap();
            let dropped = capabilities(None).unwrap();
            assert_eq!((dropped.effective, dropped.permitted), (before.effective & NEEDED, before.permitted));
            restore().unwrap();
            assert_eq!(capabilities(None).unwrap().effective, before.permitted);
            drop_unneeded(CapabilitySet::CHOWN).unwrap();
            let left = capabilities(None).unwrap();
            let permitted = before.permitted & (NEEDED | CapabilitySet::CHOWN);
            assert_eq!((left.effective, left.permitted), (before.permitted & NEEDED, permitted));
            restore().unwrap();
            assert_eq!(capabilities(None).unwrap().effective, permitted);
        });
        thread.join().unwrap();
    }
}
