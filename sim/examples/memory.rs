//! The most memory that a run takes: `memory MACHINE MILLISECONDS` runs two tasks on each CPU for so much simulated time.
//!
//! Linux only: the number is `VmHWM` of `/proc/self/status`.

#[path = "../benches/cases/mod.rs"]
mod cases;

use cases::{MS, run_sleep};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(machine), Some(ms)) = (args.first(), args.get(1).and_then(|ms| ms.parse::<u64>().ok())) else {
        eprintln!("memory: expected a machine and milliseconds, as in `memory bench-4096 5`");
        std::process::exit(2);
    };
    let case = run_sleep(machine);
    let began = Instant::now();
    let outcome = case.run(ms * MS, &mut ());
    let took = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a kernel that counts memory");
    println!("{machine}, {ms} ms: {} wake-ups, {} events in {took:.2} s; {peak}", outcome.wakeups, outcome.events);
}
