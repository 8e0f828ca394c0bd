//! `wakelab-load`: loads that wake tasks in well-known ways. Each thread or process does a fixed number of rounds, so
//! that a run ends by itself.

mod fork;
mod futex;
mod message;
mod mixed;
mod pipe;
mod tcp;
mod work;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: wakelab-load LOAD [COUNT [ROUNDS]]
  pipe     COUNT pairs of processes that wake each other through pipes, with a little work between
  switch   the same without work (as context_switch1 of will-it-scale)
  mixed    as pipe, with processes of different policies, nice values and slices (as root)
  futex    as pipe, with threads and futexes
  fork     COUNT chains of processes: each forks one, which forks the next; every fourth executes a program
  message  COUNT message threads that each wake 4 workers and wait for them all (as schbench)
  fifo     runs the command that follows as SCHED_FIFO
  nobody   runs the command that follows without root's rights
  tcp      COUNT pairs that send a byte to and fro over the loopback device (as netperf TCP_RR)";

/// Becomes another program, without root's rights.
fn nobody(command: &[String]) -> std::io::Error {
    const NOBODY: u32 = 65534;
    program(command).uid(NOBODY).gid(NOBODY).exec()
}

/// Becomes another program, of the realtime class.
fn fifo(command: &[String]) -> std::io::Error {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: the argument lives until the call has returned.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) } != 0 {
        return std::io::Error::last_os_error();
    }
    program(command).exec()
}

fn program(command: &[String]) -> Command {
    let (program, arguments) = command.split_first().map_or(("true", &[][..]), |(first, rest)| (first, rest));
    let mut program = Command::new(program);
    program.args(arguments);
    program
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|load| load == "nobody") {
        eprintln!("wakelab-load nobody: {}", nobody(&args[2..]));
        return ExitCode::FAILURE;
    }
    if args.get(1).is_some_and(|load| load == "fifo") {
        eprintln!("wakelab-load fifo: {}", fifo(&args[2..]));
        return ExitCode::FAILURE;
    }
    let number =
        |at: usize, default: usize| args.get(at).map_or(Some(default), |text| text.parse().ok().filter(|&n| n > 0));
    let (Some(load), Some(count), Some(rounds)) = (args.get(1), number(2, 4), number(3, 1000)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let result = match load.as_str() {
        "pipe" => pipe::run(count, rounds, pipe::LITTLE_WORK, |_| Ok(())),
        "switch" => pipe::run(count, rounds, 0, |_| Ok(())),
        "mixed" => pipe::run(count, rounds, pipe::LITTLE_WORK, mixed::become_task),
        "futex" => futex::run(count, rounds),
        "fork" => fork::run(count, rounds),
        "message" => message::run(count, rounds),
        "tcp" => tcp::run(count, rounds),
        // What a fork chain executes.
        "nothing" => Ok(()),
        _ => {
            eprintln!("unknown load '{load}'\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wakelab-load {load}: {error}");
            ExitCode::FAILURE
        }
    }
}
