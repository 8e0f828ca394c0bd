//! Digests of random runs of a scheduler: `scx_digests OBJECT COUNT JOBS [SEED]`. The same arguments print the same
//! lines, whatever JOBS is.

use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_scx_fetch::Schedulers;
use wakelab_study::experiment::named_scheduler;
use wakelab_study::runs::fence::Fence;
use wakelab_study::scx_check::Check;

/// Machines of one to eight CPUs, with and without SMT, LLCs, nodes and kworkers.
const MACHINES: [&str; 6] = ["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s", "intel-kaby-lake-4c8t"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [object, count, jobs, rest @ ..] = &words[..] else { return Err("expected OBJECT COUNT JOBS [SEED]".into()) };
    let scheduler = named_scheduler(&Schedulers::default(), object)?;
    let machines = MACHINES.map(|name| wakelab_machine::get(name).expect("a machine"));
    let check = Check {
        scheduler: &scheduler,
        machines: &machines,
        kernel: Preset::get("v7.2")?,
        seed: rest.first().map_or(Ok(1), |seed| seed.parse())?,
        jobs: jobs.parse()?,
        stop: &AtomicBool::new(false),
        fence: &Fence::default(),
        done: &|_| {},
    };
    for (number, (hash, events)) in check.digests(count.parse()?)?.into_iter().enumerate() {
        println!("{number}: {events} events, {hash:016x}");
    }
    Ok(())
}
