//! A page with every section. All of its numbers are made up.

mod over_load;
mod over_time;

use wakelab_page::*;

/// Numbers that look like chance and are the same each time: xorshift.
pub struct Chance(pub u64);

impl Chance {
    /// 0 to 1.
    pub fn number(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The sides.
pub const SIDES: [&str; 2] = ["SIS_PROP", "SIS_UTIL"];

/// The cases: most is of the first.
pub const CASES: [&str; 2] = ["netperf TCP_RR", "tbench loopback"];

/// Names as a kernel may have them, which must not become HTML.
pub const HOSTILE: [&str; 2] = ["</script><b>x", "<img onerror=1>"];

fn side(name: &str, switches: &str, util: bool) -> Side {
    let names = ["TTWU_QUEUE", "WA_IDLE", "WA_WEIGHT", "SIS_UTIL", "WA_BIAS", "UTIL_EST", "PLACE_LAG", "HRTICK"];
    let on = |name: &str| (name != "SIS_UTIL" || util) && name != "HRTICK";
    let features = names.map(|name| Feature { name: name.into(), on: on(name) }).to_vec();
    Side { name: name.into(), switches: switches.into(), features }
}

/// Two packages with an LLC each and two threads a core, numbered as Intel's firmware does.
fn machine(cpus: u32) -> Topology {
    let cores = cpus / 2;
    let place = |cpu: u32| {
        let core = cpu % cores;
        let package = u32::from(core >= cores / 2);
        CpuPlace { cpu, package, node: package, die: package, llc: package, core, capacity: 1024 }
    };
    Topology { name: format!("made-up-{cpus}"), description: String::new(), cpus: (0..cpus).map(place).collect() }
}

/// A page of a machine of so many CPUs, an even number of 4 at least.
pub fn page(cpus: u32) -> Page {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let run = Run {
        command: format!(
            "wakelab compare --machine made-up-{cpus} --kernel v6.12 --workload netperf:TCP_RR --load 25%..200%/25% \
             --workload tbench:loopback --load 100%,200% --base SIS_PROP --with SIS_UTIL --repeat 10 --html report.html"
        ),
        version: "0.1.0".into(),
        kind: Kind::Simulated,
        kernel: "v6.12".into(),
        machine: format!("made-up-{cpus}: 2 packages"),
        workload: "netperf:TCP_RR, tbench:loopback".into(),
        facts: vec![
            ("Repeats".into(), "10 on each side".into()),
            ("Measured".into(), "1 s after 600 ms".into()),
            ("Seed".into(), "1".into()),
        ],
    };
    let explain = "sample row 5: 52.298654 s, v6.12: ld/2535 on cpu 7 wakes ld/2534 (sync), last on 1, allowed 0-15\n  \
                   sync: waker is alone on cpu 7, so target 7; 7 is running ld/2535; prev 1 has a wake-up on its \
                   way;\n  sibling 0 busy (1 running); nr_idle_scan 6; 0-5 busy; limit used up after 6 probes, so \
                   target 7 [target: limit]";
    let machine = machine(cpus);
    let looked = Looked {
        cpus: machine.cpus.clone(),
        looks: [7, 1, 3].into_iter().chain(4..10).map(|cpu| cpu % cpus).collect(),
        idle: (0..cpus).step_by(5).collect(),
        waker: 7 % cpus,
        prev: 1,
        chosen: 7 % cpus,
    };
    let explained = HOSTILE.map(|comm| Explained {
        title: format!("Wake-up of {comm}/2534 at 52.298654 s"),
        why: "The slowest of SIS_PROP (made up)".into(),
        key: "limit".into(),
        text: explain.replace("ld/", &format!("{comm}/")),
        looked: Some(looked.clone()),
    });
    Page {
        title: "SIS_UTIL on 112 CPUs, made up".into(),
        verdict: vec![
            "SIS_UTIL is better than SIS_PROP in 1 of 4 rows (+195% [+180, +210] at 224 threads), worse in none"
                .to_owned(),
            "chance: 3 runs per side, p below 0.05 after Holm's correction for 4 tested rows".to_owned(),
        ],
        lead: "Every number on this page is made up: it is a sample that shows each section, and says nothing of any \
               kernel."
            .into(),
        run,
        sides: vec![side(SIDES[0], "SIS_PROP", false), side(SIDES[1], "SIS_UTIL", true)],
        focus: Some(Place { case: CASES[0].into(), load: "200%".into() }),
        machine: Some(machine),
        power: over_load::power(&mut chance),
        comparison: Some(over_load::comparison(&mut chance)),
        search: over_load::search(&mut chance),
        search_cost: over_load::search_cost(),
        latencies: over_load::latencies(),
        reasons: over_load::reasons(),
        causes: over_load::causes(),
        migrations: over_load::migrations(),
        heat: over_time::heat(cpus as usize, 100_000, &mut chance),
        llcs: over_time::llcs(&mut chance),
        timelines: over_time::timelines(&mut chance),
        regret: over_load::regret(&mut chance),
        explained: explained.to_vec(),
        sections: vec![tasks()],
        notes: vec!["Seeds are not machines: the spread of simulated repeats says nothing of a real machine's.".into()],
        assumed: vec![Assumed {
            of: "made-up-112".into(),
            name: "costs.probe".into(),
            value: "26 ns".into(),
            range: "13 to 39 ns".into(),
            why: "made up".into(),
        }],
    }
}

/// A section of a table, as `stats` would make it.
fn tasks() -> Section {
    let column = |title: &str, unit: &str, align| Column { title: title.into(), unit: unit.into(), align, key: false };
    let columns = vec![
        column("Task", "", Align::Left),
        column("Wake-ups", "", Align::Right),
        column("Moved", "%", Align::Right),
        column("p99 wait", "us", Align::Right),
        column("More", "", Align::Left),
    ];
    let names = [HOSTILE[0], HOSTILE[1], "netperf", "netserver", "kworker/3:1H"];
    let row = |(i, name): (usize, &&str)| {
        let link = Cell::Link("latencies".into(), "latency".into());
        let i = i as f64;
        vec![
            Cell::Text(name.to_string()),
            Cell::Number(50_000.0 / (i + 1.0), 0),
            Cell::Number(12.345 * i, 1),
            Cell::Number(31.25 + i, 2),
            link,
        ]
    };
    let rows = names.iter().enumerate().map(row).collect();
    let table = Table { id: "tasks-table".into(), caption: "Tasks with the most wake-ups".into(), columns, rows };
    let paragraphs = vec!["Tasks by name, most wake-ups first.".into()];
    Section { id: "tasks".into(), title: "By task".into(), paragraphs, tables: vec![table] }
}
