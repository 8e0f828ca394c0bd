//! The three system calls that no kept library has without `unsafe`.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::io;

/// What a process, all its threads, and its children have used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Switches away from tasks that slept or exited.
    pub(crate) voluntary: u64,
    /// Switches away from tasks that could go on.
    pub(crate) involuntary: u64,
    /// CPU time, s.
    pub(crate) cpu_s: f64,
}

impl Usage {
    /// What was used up to now by this process and by its children that it has waited for.
    pub(crate) fn now() -> io::Result<Self> {
        let [own, children] = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(getrusage);
        let (own, children) = (own?, children?);
        let sum = |of: fn(&libc::rusage) -> f64| of(&own) + of(&children);
        let s = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Ok(Usage {
            voluntary: sum(|usage| usage.ru_nvcsw as f64) as u64,
            involuntary: sum(|usage| usage.ru_nivcsw as f64) as u64,
            cpu_s: s(own.ru_utime) + s(own.ru_stime) + s(children.ru_utime) + s(children.ru_stime),
        })
    }

    /// How often the calling thread was switched away from.
    pub(crate) fn switches_of_thread() -> io::Result<u64> {
        let usage = getrusage(libc::RUSAGE_THREAD)?;
        Ok((usage.ru_nvcsw + usage.ru_nivcsw) as u64)
    }
}

#[expect(unsafe_code, reason = "neither std nor rustix has getrusage()")]
fn getrusage(who: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes a whole rusage, for which there is room; all zeros are a rusage, too.
    let (result, usage) = unsafe { (libc::getrusage(who, usage.as_mut_ptr()), usage.assume_init()) };
    if result == 0 { Ok(usage) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread the policy SCHED_IDLE. Threads that have it are preempted by any other.
#[expect(unsafe_code, reason = "neither std nor rustix has sched_setscheduler()")]
pub(crate) fn become_sched_idle() -> io::Result<()> {
    // musl's function of that name only fails (ENOSYS). The kernel's struct sched_param is this one int.
    let sched_priority: libc::c_int = 0;
    // SAFETY: the argument lives until the call has returned; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const sched_priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Forks a process that only computes (`work`), exits, and is waited for. `work` allocates nothing, takes no lock and
/// does not panic: another thread may have held any lock at the fork.
#[expect(unsafe_code, reason = "std starts no process without execve(), which costs more than all else here")]
pub(crate) fn fork_and_wait(work: impl Fn()) -> io::Result<()> {
    // SAFETY: the child calls nothing but `work`, which computes, and _exit(), which is async-signal-safe.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            work();
            // SAFETY: it does not return, and runs no destructor or handler of the parent's.
            unsafe { libc::_exit(0) }
        }
        _ => {}
    }
    loop {
        match waitpid(Pid::from_raw(child), WaitOptions::empty()) {
            Ok(Some((_, status))) if status.exit_status() == Some(0) => return Ok(()),
            Ok(_) => return Err(io::Error::other("a forked process did not end by itself")),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_process_ends_and_counts() {
        let before = Usage::now().expect("usage");
        fork_and_wait(|| {}).expect("a process");
        let after = Usage::now().expect("usage");
        assert!(after.voluntary + after.involuntary >= before.voluntary + before.involuntary);
        assert!(after.cpu_s >= before.cpu_s);
        assert!(Usage::switches_of_thread().is_ok());
    }

    #[test]
    fn a_thread_may_always_become_sched_idle() {
        std::thread::spawn(|| become_sched_idle().expect("allowed to all")).join().expect("a thread");
    }
}
