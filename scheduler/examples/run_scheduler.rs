//! Runs a scheduler's object: `run_scheduler OBJECT [variable=number...]`. It prints what tasks have done, or what the
//! scheduler lacks.

use std::sync::atomic::AtomicBool;
use std::time::Instant;
use wakelab_kernel::Preset;
use wakelab_scheduler::BpfScheduler;
use wakelab_sim::{Mechanisms, Setup, run};
use wakelab_workload::Work;
use wakelab_workload::synthetic::{ping_pong, run_sleep};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("expected the path of an object")?;
    let mut scheduler = BpfScheduler::new(&path, &std::fs::read(&path)?, &path)?;
    let mut machine = "intel-kaby-lake-4c8t".to_owned();
    let mut kernel = "v7.2".to_owned();
    for word in args {
        let (name, value) = word.split_once('=').ok_or("expected variable=number")?;
        match name {
            "machine" => machine = value.to_owned(),
            "kernel" => kernel = value.to_owned(),
            _ => scheduler.set(name, value.parse()?),
        }
    }
    let machine = wakelab_machine::get(&machine)?;
    let kernel = Preset::get(&kernel)?;
    let nr_cpus = machine.topology.nr_cpus();
    let loads = [
        ("pairs", ping_pong(nr_cpus / 4)),
        ("2 tasks a CPU, 50/50 us", run_sleep(2 * nr_cpus, Work::uniform(50_000, 0), Work::uniform(50_000, 0))),
    ];
    for (name, workload) in loads {
        let setup = Setup {
            machine: &machine,
            kernel,
            features: kernel.features,
            workload: &workload,
            seed: 1,
            until: 200_000_000,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None,
            scheduler: Some(&scheduler),
        };
        let began = Instant::now();
        match run(&setup, &mut (), &AtomicBool::new(false)) {
            Ok(outcome) => {
                let seconds = began.elapsed().as_secs_f64();
                let idle: u64 = outcome.cpus.iter().map(|cpu| cpu.idle).sum();
                let wakeups = outcome.wakeups;
                let percent = idle * 100 / (outcome.ended * u64::from(nr_cpus));
                println!("{name}: {wakeups} wake-ups, idle {percent}%, {:.0} a second", wakeups as f64 / seconds);
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
    Ok(())
}
