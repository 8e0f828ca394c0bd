//! What a recording's or a run's tables say of its switches, as JSON: how many, and how long each task ran between two
//! of them on a CPU. crates/perfetto/check holds what Perfetto makes of a trace against it; nothing of that trace's
//! writer is used here.
//!
//! `cargo run -p wakelab-events --example running_times -- FOLDER`

use std::collections::BTreeMap;
use wakelab_events::ReadError;
use wakelab_events::stream::{Migration, Migrations, Source, Switch, Switches};

/// Who has each CPU, since when.
#[derive(Default)]
struct Running {
    on: BTreeMap<u32, (i64, u64)>,
    switches: u64,
    ns: BTreeMap<i64, u64>,
}

impl Running {
    fn switch(&mut self, t_ns: u64, cpu: u32, to: i64) {
        self.switches += 1;
        if let Some((task, since)) = self.on.insert(cpu, (to, t_ns)) {
            *self.ns.entry(task).or_default() += t_ns - since;
        }
    }

    /// The simulator's balancer takes the CPU from a running task without a switch.
    fn moved(&mut self, moved: &Migration) {
        if self.on.get(&moved.from_cpu).is_some_and(|(task, _)| *task == moved.pid) {
            self.switch(moved.t_ns, moved.from_cpu, 0);
        }
    }
}

/// Both in the order of time, what was moved at a time before its switches.
fn walk(mut switches: Switches, mut migrations: Option<Migrations>) -> Result<Running, ReadError> {
    let mut running = Running::default();
    let mut next_migration = || migrations.as_mut().map_or(Ok(None), Migrations::next_migration);
    let mut moved = next_migration()?;
    while let Some(Switch { t_ns, cpu, next_pid, .. }) = switches.next_switch()? {
        while let Some(of) = moved.take_if(|moved| moved.t_ns <= t_ns) {
            running.moved(&of);
            moved = next_migration()?;
        }
        running.switch(t_ns, cpu, next_pid);
    }
    while let Some(of) = moved {
        running.moved(&of);
        moved = next_migration()?;
    }
    Ok(running)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected the folder of a recording or a run")?;
    let running = match Source::at(folder.as_ref())?.as_slice() {
        [Source::Simulated(folder)] => walk(Switches::simulated(folder), Some(Migrations::simulated(folder)))?,
        [Source::Recorded(tables)] => walk(Switches::new(tables.switches.clone()), None)?,
        others => {
            let found: Vec<String> = others.iter().map(|source| source.path().display().to_string()).collect();
            return Err(format!("expected one recording or one run with switches, found {}", found.join(", ")).into());
        }
    };
    let ns: Vec<String> = running.ns.iter().map(|(task, ns)| format!("\"{task}\": {ns}")).collect();
    println!("{{ \"switches\": {}, \"running_ns\": {{ {} }} }}", running.switches, ns.join(", "));
    Ok(())
}
