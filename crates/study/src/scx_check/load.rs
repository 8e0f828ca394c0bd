//! A workload that is drawn at random, and what is simpler than it.

use oorandom::Rand64;
use std::fmt::Write;
use wakelab_input::cpulist_text;

/// What the tasks of a group do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Does {
    /// They compute for ever.
    Spin,
    /// They compute and sleep in turn.
    Sleep { run_us: u64, sleep_us: u64 },
    /// They compute and yield in turn.
    Yield { run_us: u64 },
    /// Pairs: a client asks and waits, and a server answers; with WF_SYNC or not.
    Ask { run_us: u64, sync: bool },
    /// They fork children, which compute and exit, wait for all, and sleep.
    Fork { children: u32, run_us: u64, sleep_us: u64 },
    /// All of them wake up at the same time, again and again.
    Burst { run_us: u64, period_us: u64 },
}

/// Tasks that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    does: Does,
    count: u32,
    nice: i8,
    /// Where they may run; `None` for all CPUs.
    cpus: Option<Vec<u32>>,
    start_ms: u64,
}

/// A CPU that goes offline, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hotplug {
    /// Which, from 1 on.
    cpu: u32,
    offline_ms: u64,
    /// When it comes back; `None` for never.
    online_ms: Option<u64>,
}

impl Hotplug {
    fn draw(random: &mut Rand64, cpu: u32) -> Self {
        let offline_ms = up_to(random, 300);
        let online_ms = (up_to(random, 4) != 0).then(|| offline_ms + 1 + up_to(random, 150));
        Hotplug { cpu, offline_ms, online_ms }
    }

    fn to_toml(self, text: &mut String) {
        let mut change = |key: &str, ms: u64| {
            let _ = write!(text, "\n[[change]]\nat = \"{ms}ms\"\n{key} = \"{}\"\n", self.cpu);
        };
        change("offline", self.offline_ms);
        self.online_ms.into_iter().for_each(|ms| change("online", ms));
    }
}

/// A workload, and the machine that it runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// The number of the machine among those that are given.
    pub machine: usize,
    groups: Vec<Group>,
    /// A CPU once.
    hotplugs: Vec<Hotplug>,
}

/// How many workloads come before those that are drawn: what most schedulers that lose a task lose first.
pub(super) const FIXED: u32 = 3;

/// From `low` on to `high`, each power as likely as any other.
fn spread(random: &mut Rand64, low: u64, high: u64) -> u64 {
    let span = (high as f64 / low as f64).ln();
    (low as f64 * (span * random.rand_float()).exp()) as u64
}

fn up_to(random: &mut Rand64, most: u64) -> u64 {
    random.rand_range(0..most.max(1))
}

impl Group {
    fn draw(random: &mut Rand64, nr_cpus: u32) -> Self {
        let run_us = spread(random, 50, 5_000);
        let sleep_us = spread(random, 100, 20_000);
        let does = match up_to(random, 12) {
            0..=2 => Does::Spin,
            3..=5 => Does::Sleep { run_us, sleep_us },
            6 => Does::Yield { run_us },
            7..=8 => Does::Ask { run_us, sync: up_to(random, 2) == 0 },
            9..=10 => Does::Fork { children: 1 + up_to(random, 4) as u32, run_us, sleep_us },
            _ => Does::Burst { run_us, period_us: sleep_us.max(2_000) },
        };
        let cpus = match up_to(random, 4) {
            0 => Some(vec![up_to(random, u64::from(nr_cpus)) as u32]),
            1 => {
                let some: Vec<u32> = (0..nr_cpus).filter(|_| up_to(random, 2) == 0).collect();
                (!some.is_empty() && some.len() < nr_cpus as usize).then_some(some)
            }
            _ => None,
        };
        let room = cpus.as_ref().map_or(u64::from(nr_cpus), |cpus| cpus.len() as u64);
        let count = 1 + up_to(random, (2 * room).min(12)) as u32;
        let nice = if up_to(random, 5) < 3 { 0 } else { up_to(random, 11) as i8 - 5 };
        let start_ms = if up_to(random, 4) == 0 { 1 + up_to(random, 100) } else { 0 };
        Group { does, count, nice, cpus, start_ms }
    }

    /// What is simpler than it, the simplest first.
    fn simpler(&self) -> Vec<Group> {
        let mut simpler = Vec::new();
        let mut with = |change: &dyn Fn(&mut Group)| {
            let mut group = self.clone();
            change(&mut group);
            if group != *self {
                simpler.push(group);
            }
        };
        with(&|group| group.count = 1);
        with(&|group| group.count = (group.count / 2).max(1));
        with(&|group| group.count = (group.count - 1).max(1));
        with(&|group| group.does = Does::Spin);
        with(&|group| {
            // Spinning is simpler still, and would come back to this.
            if !matches!(group.does, Does::Spin) {
                group.does = Does::Sleep { run_us: 1_000, sleep_us: 1_000 };
            }
        });
        // One of a pair, or of those that fork, may be all that it takes.
        with(&|group| match group.does {
            Does::Ask { run_us, .. } | Does::Burst { run_us, .. } | Does::Yield { run_us } => {
                group.does = Does::Sleep { run_us, sleep_us: 1_000 };
            }
            Does::Fork { run_us, sleep_us, .. } => group.does = Does::Sleep { run_us, sleep_us },
            Does::Spin | Does::Sleep { .. } => {}
        });
        with(&|group| group.nice = 0);
        with(&|group| group.cpus = None);
        with(&|group| {
            if let Some(cpus) = &mut group.cpus {
                cpus.truncate(1);
            }
        });
        with(&|group| group.start_ms = 0);
        with(&|group| match &mut group.does {
            Does::Spin => {}
            Does::Ask { sync, .. } => *sync = false,
            Does::Fork { children, .. } => *children = 1,
            Does::Sleep { run_us, .. } | Does::Yield { run_us } | Does::Burst { run_us, .. } => *run_us = 1_000,
        });
        with(&|group| match &mut group.does {
            Does::Spin | Does::Yield { .. } => {}
            Does::Ask { run_us, .. } => *run_us = 1_000,
            Does::Fork { run_us, sleep_us, .. } => (*run_us, *sleep_us) = (1_000, 1_000),
            Does::Sleep { sleep_us, .. } => *sleep_us = 1_000,
            Does::Burst { period_us, .. } => *period_us = 10_000,
        });
        simpler
    }

    fn tasks(&self) -> u32 {
        match self.does {
            Does::Ask { .. } => 2 * self.count,
            _ => self.count,
        }
    }

    fn to_toml(&self, number: usize, text: &mut String) {
        let again = "{repeat = {to = 0}}";
        let name = |what: &str| format!("{what} {number}");
        let program = |text: &mut String, name: &str, ops: &str| {
            let _ = write!(text, "\n[[program]]\nname = \"{name}\"\nops = [{ops}]\n");
        };
        let own = match self.does {
            Does::Spin => ("spins", format!("\"begin\", {{run = \"1ms\"}}, \"done\", {again}")),
            Does::Sleep { run_us, sleep_us } => {
                let ops =
                    format!("\"begin\", {{run = \"{run_us}us\"}}, \"done\", {{sleep = \"{sleep_us}us\"}}, {again}");
                ("sleeps", ops)
            }
            Does::Yield { run_us } => {
                ("yields", format!("\"begin\", {{run = \"{run_us}us\"}}, \"done\", \"yield\", {again}"))
            }
            Does::Fork { children, run_us, sleep_us } => {
                program(text, &name("child"), &format!("{{run = \"{run_us}us\"}}"));
                let fork = format!("{{fork = \"{}\"}}, ", name("child")).repeat(children as usize);
                ("forks", format!("\"begin\", {fork}\"wait\", \"done\", {{sleep = \"{sleep_us}us\"}}, {again}"))
            }
            Does::Burst { run_us, period_us } => {
                let timer = format!("{{timer = \"period\", period = \"{period_us}us\", mode = \"absolute\"}}");
                ("bursts", format!("{timer}, \"begin\", {{run = \"{run_us}us\"}}, \"done\", {again}"))
            }
            Does::Ask { run_us, sync } => return self.pairs_to_toml(number, run_us, sync, text),
        };
        program(text, &name(own.0), &own.1);
        self.task_to_toml(&name(own.0), &name(own.0), self.count, text);
    }

    fn pairs_to_toml(&self, number: usize, run_us: u64, sync: bool, text: &mut String) {
        let sync = if sync { ", sync = true" } else { "" };
        for pair in 0..self.count {
            let id = format!("{number}.{pair}");
            for what in ["question", "answer"] {
                let _ = write!(text, "\n[[channel]]\nname = \"{what} {id}\"\ncapacity = 1\nper_instance = false\n");
            }
            let server = format!(
                "{{recv = \"question {id}\"}}, {{run = \"{run_us}us\"}}, {{send = \"answer {id}\"{sync}}}, \
                 {{repeat = {{to = 0}}}}"
            );
            let client = format!(
                "\"begin\", {{run = \"{run_us}us\"}}, {{send = \"question {id}\"{sync}}}, {{recv = \"answer {id}\"}}, \
                 \"done\", {{repeat = {{to = 0}}}}"
            );
            for (what, ops) in [("server", server), ("client", client)] {
                let name = format!("{what} {id}");
                let _ = write!(text, "\n[[program]]\nname = \"{name}\"\nops = [{ops}]\n");
                self.task_to_toml(&name, &name, 1, text);
            }
        }
    }

    fn task_to_toml(&self, name: &str, program: &str, count: u32, text: &mut String) {
        let _ = write!(text, "\n[[task]]\nname = \"{name}\"\nprogram = \"{program}\"\ncount = {count}\n");
        if self.start_ms != 0 {
            let _ = writeln!(text, "start = \"{}ms\"", self.start_ms);
        }
        if self.nice != 0 {
            let _ = writeln!(text, "nice = {}", self.nice);
        }
        if let Some(cpus) = &self.cpus {
            let _ = writeln!(text, "cpus = \"{}\"", cpulist_text(cpus));
        }
    }
}

impl Load {
    /// The fixed workload of a number below [`FIXED`]: a hog that is alone on the smallest machine, one that is bound
    /// to the last CPU of the largest, and hogs and a sleeper that leave a CPU of that idle.
    fn fixed(number: u32, nr_cpus: &[u32]) -> Self {
        let machines = || nr_cpus.iter().enumerate();
        let smallest = machines().min_by_key(|&(at, cpus)| (*cpus, at)).map_or(0, |(at, _)| at);
        let largest = machines().max_by_key(|&(at, cpus)| (*cpus, std::cmp::Reverse(at))).map_or(0, |(at, _)| at);
        let of = |does, count, cpus| Group { does, count, nice: 0, cpus, start_ms: 0 };
        let last = nr_cpus[largest] - 1;
        let (machine, groups) = match number {
            0 => (smallest, vec![of(Does::Spin, 1, None)]),
            1 => (largest, vec![of(Does::Spin, 1, Some(vec![last]))]),
            _ => {
                let sleeper = of(Does::Sleep { run_us: 1_000, sleep_us: 1_000 }, 1, None);
                let hogs = last.saturating_sub(1);
                let hogs = (hogs > 0).then(|| of(Does::Spin, hogs, None));
                (largest, hogs.into_iter().chain([sleeper]).collect())
            }
        };
        Load { machine, groups, hotplugs: Vec::new() }
    }

    /// The workload of a number under a seed; `nr_cpus` are those of each machine. The first [`FIXED`] are always the
    /// same. With `hotplug`, CPUs of a third of the others go offline.
    pub fn draw(seed: u64, number: u32, nr_cpus: &[u32], hotplug: bool) -> Self {
        if number < FIXED {
            return Load::fixed(number, nr_cpus);
        }
        let mut random = Rand64::new(u128::from(seed) << 32 | u128::from(number));
        let machine = up_to(&mut random, nr_cpus.len() as u64) as usize;
        let groups = 1 + up_to(&mut random, 5);
        let groups = (0..groups).map(|_| Group::draw(&mut random, nr_cpus[machine])).collect();
        let mut hotplugs = Vec::new();
        if hotplug && up_to(&mut random, 3) == 0 {
            let part = 1 + up_to(&mut random, 3);
            for cpu in 1..nr_cpus[machine] {
                if up_to(&mut random, 4) < part {
                    hotplugs.push(Hotplug::draw(&mut random, cpu));
                }
            }
        }
        Load { machine, groups, hotplugs }
    }

    /// What is simpler than it, the simplest first: CPUs that stay, fewer groups, a smaller machine, then simpler
    /// groups.
    pub fn simpler(&self, nr_cpus: &[u32]) -> Vec<Load> {
        let mut simpler = Vec::new();
        let mut with = |hotplugs: Vec<Hotplug>| {
            if hotplugs != self.hotplugs {
                simpler.push(Load { hotplugs, ..self.clone() });
            }
        };
        with(Vec::new());
        for at in 0..self.hotplugs.len() {
            let mut hotplugs = self.hotplugs.clone();
            hotplugs.remove(at);
            with(hotplugs.clone());
            hotplugs.insert(at, Hotplug { online_ms: None, ..self.hotplugs[at] });
            with(hotplugs);
        }
        if self.groups.len() > 1 {
            for without in 0..self.groups.len() {
                let mut load = self.clone();
                load.groups.remove(without);
                simpler.push(load);
            }
        }
        let mut machines: Vec<usize> = (0..nr_cpus.len()).filter(|&to| nr_cpus[to] < nr_cpus[self.machine]).collect();
        machines.sort_by_key(|&machine| nr_cpus[machine]);
        simpler.extend(machines.into_iter().map(|machine| self.on(machine, nr_cpus[machine])));
        for (at, group) in self.groups.iter().enumerate() {
            simpler.extend(group.simpler().into_iter().map(|group| {
                let mut load = self.clone();
                load.groups[at] = group;
                load
            }));
        }
        simpler
    }

    /// The same on a smaller machine. A group that has no CPU there is bound to its last.
    fn on(&self, machine: usize, nr_cpus: u32) -> Load {
        let mut load = Load { machine, ..self.clone() };
        load.hotplugs.retain(|hotplug| hotplug.cpu < nr_cpus);
        for group in &mut load.groups {
            if let Some(cpus) = &mut group.cpus {
                cpus.retain(|&cpu| cpu < nr_cpus);
                if cpus.is_empty() {
                    cpus.push(nr_cpus - 1);
                }
            }
        }
        load
    }

    /// How many tasks it has at first.
    pub fn tasks(&self) -> u32 {
        self.groups.iter().map(Group::tasks).sum()
    }

    /// It as a workload file, with these lines as its first comment.
    pub fn to_toml(&self, about: &[String]) -> String {
        let mut text = String::new();
        about.iter().for_each(|line| _ = writeln!(text, "# {line}"));
        text += "\n[workload]\nbenchmark = \"scx-check\"\ncase = \"drawn\"\nmetric = \"throughput\"\n";
        text += "unit = \"rounds/s\"\nbetter = \"higher\"\n";
        self.groups.iter().enumerate().for_each(|(number, group)| group.to_toml(number, &mut text));
        self.hotplugs.iter().for_each(|hotplug| hotplug.to_toml(&mut text));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wakelab_workload::from_toml;

    const CPUS: [u32; 3] = [8, 1, 2];

    #[test]
    fn all_that_is_drawn_is_a_workload_that_can_be_read() {
        for number in 0..300 {
            let load = Load::draw(7, number, &CPUS, number % 2 == 0);
            for load in std::iter::once(load.clone()).chain(load.simpler(&CPUS)) {
                let text = load.to_toml(&["a test".to_owned()]);
                let workload = from_toml(&text, Path::new("drawn.toml"), 1).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(workload.tasks.len(), load.tasks() as usize, "{text}");
                let cpus = workload.tasks.iter().filter_map(|task| task.affinity.as_ref()).flatten();
                assert!(cpus.max().is_none_or(|&cpu| cpu < CPUS[load.machine]), "{text}");
            }
        }
    }

    #[test]
    fn cpus_go_offline_if_the_scheduler_goes_on() {
        let of = |number, hotplug| Load::draw(7, number, &CPUS, hotplug);
        let mut with = 0;
        for number in 0..300 {
            let load = of(number, true);
            with += usize::from(!load.hotplugs.is_empty());
            // All else is as without.
            assert_eq!(Load { hotplugs: Vec::new(), ..load }, of(number, false));
        }
        assert!((20..100).contains(&with), "{with}");
    }

    #[test]
    fn what_is_simpler_ends() {
        for number in 0..50 {
            let mut load = Load::draw(1, number, &CPUS, true);
            let mut steps = 0;
            while let Some(simpler) = load.simpler(&CPUS).into_iter().next() {
                load = simpler;
                steps += 1;
                assert!(steps < 100, "{load:?}");
            }
            assert_eq!((load.tasks(), CPUS[load.machine], load.hotplugs.len()), (1, 1, 0));
        }
    }

    #[test]
    fn a_number_is_one_workload_and_numbers_differ() {
        let of = |number| Load::draw(3, number, &CPUS, true);
        assert_eq!(of(5), of(5));
        for number in 0..FIXED {
            assert_eq!(of(number), Load::draw(4, number, &CPUS, true));
        }
        assert_eq!((of(0).tasks(), CPUS[of(0).machine]), (1, 1), "a hog that is alone");
        assert_eq!((of(1).groups[0].cpus.as_deref(), of(2).tasks()), (Some(&[7][..]), 7));
        assert!((1..20).all(|number| of(number) != of(0)));
    }
}
