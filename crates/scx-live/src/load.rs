//! Runs a workload's programs as processes: the steps that the loads of this crate have, and no others.

use anyhow::{Context, Result, bail};
use std::io;
use std::time::Duration;
use wakelab_workload::{Op, Workload};

/// The prefix of the names of the processes, as in src/bpf/doings.bpf.c; the number of the task follows.
pub const PREFIX: &str = "wl~";

/// A load that has begun.
pub struct Running {
    tasks: Vec<libc::pid_t>,
}

/// Checks that every step can be done here.
///
/// # Errors
/// Fails with the program and the step that cannot.
pub fn check(workload: &Workload) -> Result<()> {
    for program in &workload.programs {
        for op in &program.ops {
            let work = match op {
                Op::Run(work) | Op::Sleep(work) => Some(work),
                Op::Send { .. } | Op::Recv { .. } | Op::Fork { .. } | Op::Wait | Op::Exit => None,
                Op::Repeat { .. } | Op::Begin | Op::Done => None,
                _ => bail!("program {}: {op:?} cannot run live; expected run, sleep, send, recv or fork", program.name),
            };
            if work.is_some_and(|work| work.jitter_pct != 0 || work.distribution.is_some()) {
                bail!("program {}: {op:?} is drawn at random; expected a fixed time", program.name);
            }
        }
    }
    Ok(())
}

/// Starts all tasks, which wait until all are there, and lets them go. `before` is called just before that.
///
/// # Errors
/// Fails if the system refuses a pipe or a process.
pub fn start<T>(workload: &Workload, before: impl FnOnce() -> T) -> Result<(Running, T)> {
    check(workload)?;
    let pipes = workload.channels.iter().map(|_| pipe()).collect::<Result<Vec<_>>>()?;
    let (wait, go) = pipe()?;
    let mut running = Running { tasks: Vec::new() };
    for at in 0..workload.tasks.len() {
        // SAFETY: this process has one thread.
        match unsafe { libc::fork() } {
            -1 => bail!("fork: {}", io::Error::last_os_error()),
            0 => {
                let failed = Task { workload, at, pipes: &pipes }.run(wait, go);
                eprintln!("scx-live: task {}: {failed:#}", workload.tasks[at].name);
                // SAFETY: ends this process at once.
                unsafe { libc::_exit(1) }
            }
            pid => running.tasks.push(pid),
        }
    }
    close(wait);
    for (read, write) in pipes {
        close(read);
        close(write);
    }
    // They come to the pipe.
    std::thread::sleep(Duration::from_millis(200));
    let result = before();
    close(go);
    Ok((running, result))
}

impl Running {
    /// Ends all tasks, and those that they have forked.
    pub fn end(self) {
        for &pid in &self.tasks {
            // SAFETY: each task is the leader of a group of its own.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
        for &pid in &self.tasks {
            // SAFETY: a child of this process.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn pipe() -> Result<(i32, i32)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
        bail!("pipe: {}", io::Error::last_os_error());
    }
    Ok((ends[0], ends[1]))
}

fn close(fd: i32) {
    // SAFETY: the descriptor is this module's.
    unsafe { libc::close(fd) };
}

/// CLOCK_THREAD_CPUTIME_ID, ns.
fn cpu_time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the argument is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Task<'a> {
    workload: &'a Workload,
    at: usize,
    pipes: &'a [(i32, i32)],
}

impl Task<'_> {
    /// Returns only if something fails.
    fn run(&self, wait: i32, go: i32) -> anyhow::Error {
        let task = &self.workload.tasks[self.at];
        close(go);
        if let Err(error) = self.prepare(task) {
            return error;
        }
        let mut byte = 0_u8;
        // SAFETY: reads into a byte; it ends when the other end is closed everywhere.
        unsafe { libc::read(wait, (&raw mut byte).cast(), 1) };
        self.program(task.program, &task.channels)
    }

    fn prepare(&self, task: &wakelab_workload::Task) -> Result<()> {
        let name = std::ffi::CString::new(format!("{PREFIX}{}", self.at))?;
        // SAFETY: plain system calls with valid arguments.
        unsafe {
            libc::setpgid(0, 0);
            if let Some(cpus) = &task.affinity {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu as usize, &mut set));
                if libc::sched_setaffinity(0, size_of_val(&set), &raw const set) != 0 {
                    return Err(io::Error::last_os_error()).context("sched_setaffinity");
                }
            }
            if libc::setpriority(libc::PRIO_PROCESS, 0, task.nice.into()) != 0 {
                return Err(io::Error::last_os_error()).context("setpriority");
            }
            libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        }
        Ok(())
    }

    fn program(&self, program: u32, channels: &[u32]) -> anyhow::Error {
        let ops = &self.workload.programs[program as usize].ops;
        let mut left: Vec<Option<u32>> = vec![None; ops.len()];
        // Children hold the end for writing up to their exit: who waits for them all is woken once, as wait() is not.
        let mut children: Option<(i32, i32)> = None;
        let mut at = 0;
        while let Some(op) = ops.get(at) {
            at += 1;
            match *op {
                Op::Run(work) => {
                    let until = cpu_time() + work.ns;
                    while cpu_time() < until {
                        (0..200).for_each(|n| {
                            std::hint::black_box(n);
                        });
                    }
                }
                Op::Sleep(work) => std::thread::sleep(Duration::from_nanos(work.ns)),
                Op::Send { channel, .. } => {
                    let to = self.pipes[channels[channel as usize] as usize].1;
                    // SAFETY: writes a byte.
                    let written = unsafe { libc::write(to, b"x".as_ptr().cast(), 1) };
                    if written != 1 {
                        return io::Error::last_os_error().into();
                    }
                }
                Op::Recv { channel } => {
                    let mut byte = 0_u8;
                    let from = self.pipes[channels[channel as usize] as usize].0;
                    // SAFETY: reads into a byte.
                    let read = unsafe { libc::read(from, (&raw mut byte).cast(), 1) };
                    if read != 1 {
                        return io::Error::last_os_error().into();
                    }
                }
                Op::Fork { program } => {
                    let (read, _) = match children.map_or_else(pipe, Ok) {
                        Ok(ends) => *children.insert(ends),
                        Err(error) => return error,
                    };
                    // SAFETY: this process has one thread.
                    match unsafe { libc::fork() } {
                        -1 => return io::Error::last_os_error().into(),
                        0 => {
                            close(read);
                            return self.program(program, channels);
                        }
                        _ => {}
                    }
                }
                Op::Wait => {
                    if let Some((read, write)) = children.take() {
                        close(write);
                        let mut byte = 0_u8;
                        // SAFETY: reads into a byte; nobody writes one.
                        unsafe { libc::read(read, (&raw mut byte).cast(), 1) };
                        close(read);
                    }
                    // SAFETY: waits for children of this process until there is none.
                    while unsafe { libc::wait(std::ptr::null_mut()) } > 0 {}
                }
                Op::Exit => break,
                Op::Repeat { to, times } => {
                    let again = match times {
                        None => true,
                        Some(times) => {
                            let rest = left[at - 1].get_or_insert(times);
                            *rest -= 1;
                            *rest > 0
                        }
                    };
                    if again {
                        at = to as usize;
                    } else {
                        left[at - 1] = None;
                    }
                }
                _ => {}
            }
        }
        // SAFETY: ends this process at once.
        unsafe { libc::_exit(0) }
    }
}
