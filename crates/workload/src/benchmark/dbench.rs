//! dbench: clients that replay a load file of SMB requests as calls on a local file system.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::FRAME_MEAN;
use crate::model::params::{self, option};
use crate::{Call, Channel, Op, Program, Task, Work};

const CASES: [Case; 2] = [
    Case {
        name: "fileio",
        doc: "client processes that each replay the load file on files of their own (dbench N)",
        metric: "throughput",
        unit: "requests/s",
        higher_is_better: true,
    },
    Case {
        name: "loadfile",
        doc: "the same; the mean time in which a client goes through the load file",
        metric: FRAME_MEAN,
        unit: "ms",
        higher_is_better: false,
    },
];

const FIT: &str = "assumed: with the others, so that a client of the posting of 2019 moves its 630 MB/s with tbench's \
                   mix of requests; with the load file it moves 713";
const PLATEAU: &str = "assumed: the transaction that holds it, until xfs_trans_commit(); fitted to the plateau of the \
                       base side of the posting of NEXT_BUDDY (9540 MB/s with 48 clients)";

const fn own(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const OWN: [ParamDef; 14] = [
    own("parse", 700, 200, 1_500, "assumed: fgets() and sscanf() of a line of the load file, between two requests"),
    own("open", 5_000, 1_500, 10_000, FIT),
    own("missing", 3_000, 1_000, 6_000, "assumed: an open of a file that is not there"),
    own("close", 1_500, 500, 4_000, FIT),
    own("stat", 2_500, 800, 6_000, FIT),
    own("find", 12_000, 4_000, 40_000, FIT),
    own("unlink", 5_500, 1_500, 12_000, FIT),
    own("rename", 11_000, 3_000, 24_000, "assumed: two changes of a directory"),
    own("io", 1_500, 500, 4_000, FIT),
    own("agi", 15_000, 5_000, 30_000, PLATEAU),
    own("agf", 10_000, 3_000, 30_000, "assumed: as agi, for the extents of a file"),
    option(
        "ags",
        "",
        4,
        [1, 32, 32],
        "mkfs.xfs: allocation groups of a small file system, which mmtests makes; a large one has more, on disks that \
         do not rotate as many as CPUs (xfsprogs 6.8)",
    ),
    option(
        "inodegc",
        "",
        34,
        [0, 256, 1_000],
        "xfs_inodegc_want_queue_work(): more than the 32 inodes of a cluster are queued before this one; with fewer \
         the work waits for a jiffy without another unlink on its CPU, which is left out. 0: the task that unlinks a \
         file does it, as before 5.14",
    ),
    own(
        "disk",
        100_000,
        0,
        10_000_000,
        "assumed: a Flush waits so long for the disk, a sleep; nothing else does, as all is in the page cache; what \
         the postings' disks were is not known",
    ),
];

const COPY: ParamDef = ParamDef { origin: "assumed: 10 GB/s, by caches", ..crate::model::tcp::COPY };

/// dbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dbench;

/// The numbers of a task's resources. Of each allocation group the AGI's and the AGF's buffer follow.
const START: u32 = 0;
const INODEGC: u32 = 1;
const fn agi(group: u32) -> u32 {
    2 + 2 * group
}
const fn agf(group: u32) -> u32 {
    3 + 2 * group
}

/// The requests that take the header of an allocation group, after those before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Create,
    Unlink,
    Flush,
    /// The load file's last requests.
    End,
}

/// Requests of the load file up to the next that takes the header of an allocation group.
#[derive(Clone, Debug)]
struct Stretch {
    event: Event,
    /// The directory of the file that it is about.
    directory: u32,
    /// How many requests there are of each kind, as [`REQUESTS`] names their costs, and how many bytes each moves.
    requests: [(u64, u64); REQUESTS.len()],
}

/// The parameter that says what a request costs, the column of the load file that counts it, and that of its bytes.
const REQUESTS: [(&str, usize, Option<usize>); 9] = [
    ("stat", 5, None),
    ("find", 6, None),
    ("missing", 3, None),
    ("open", 2, None),
    ("io", 7, Some(8)),
    ("io", 9, Some(10)),
    ("close", 4, None),
    ("rename", 11, None),
    ("stat", 12, None),
];

/// The load file, as its table describes it.
fn load_file() -> Vec<Stretch> {
    let rows = include_str!("dbench_load.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let number = |column: usize| fields[column].parse::<u64>().expect("the table has numbers");
        let event = match fields[0] {
            "create" => Event::Create,
            "unlink" => Event::Unlink,
            "flush" => Event::Flush,
            _ => Event::End,
        };
        let requests = REQUESTS.map(|(_, count, bytes)| {
            let count = number(count);
            (count, bytes.map_or(0, |bytes| number(bytes) / count.max(1)))
        });
        Stretch { event, directory: number(1) as u32, requests }
    })
    .collect()
}

impl Benchmark for Dbench {
    fn name(&self) -> &'static str {
        "dbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N client processes that go through dbench's load file as system calls on a local file system, XFS, with no \
         network and no server.\n\n\
         Files are in the page cache. A task that creates or unlinks a file holds the header of an allocation group's \
         inodes (AGI) for a moment; one that flushes a file holds the header of its free space (AGF), and then waits \
         for the disk, a sleep. Both are semaphores that are handed to the first waiter. The extents and the inode of \
         an unlinked file are freed by the kworker of the CPU (xfs_inodegc_worker(), since 5.14), which takes both. \
         The log, the disk's queue and writeback are not in the model.\n\n\
         dbench prints MB/s: a load file moves 19.1 MB with 3573 requests."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        OWN.into_iter().chain([COPY, params::JITTER, params::FORK]).collect()
    }

    fn published_run(&self, case: &Case) -> ShortestRun {
        // 160 clients take half a second and more for a load file each, whose parts differ.
        match by_loadfile(case) {
            true => ShortestRun { settle_ns: 0, time_ns: 2_500_000_000 },
            false => ShortestRun { settle_ns: 0, time_ns: 1_000_000_000 },
        }
    }

    fn load_label(&self, _: &Case, clients: u32) -> String {
        if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
    }

    fn nr_tasks(&self, _: &Case, clients: u32, _: &Values) -> u64 {
        1 + u64::from(clients)
    }

    fn build(&self, case: &Case, clients: u32, values: &Values) -> TaskSet {
        let groups = (values.get("ags") as u32).max(1);
        let resources: Vec<u32> = (0..2 + 2 * groups).collect();
        let meet = Op::Call(Call::Barrier { barrier: START });
        let task = |name: String, program, i: u32| {
            Task::plain(name, program, resources.clone(), u64::from(i) * values.get("start"))
        };
        // Directories go to one group after another (m_agirotor), so that those of different clients begin in different
        // ones. The kworkers' programs come after the clients', by group.
        let variants = groups.min(clients.max(1));
        let mut tasks: Vec<Task> = (0..clients).map(|i| task(format!("client {i}"), i % variants, i)).collect();
        tasks.push(task("dbench".to_owned(), variants, clients));
        let program = |name: String, ops| Program { name, ops };
        let load_file = load_file();
        let client = |first| Client { case, values, load_file: &load_file, groups, first, inactivate: variants + 1 };
        let mut programs: Vec<Program> =
            (0..variants).map(|first| program(format!("client {first}"), client(first).ops(meet))).collect();
        programs.push(program("dbench".to_owned(), vec![meet]));
        if values.get("inodegc") != 0 {
            programs.extend((0..groups).map(|group| program(format!("inactivate {group}"), inactivate(group, values))));
        }
        let mut channels = vec![
            Channel::new("start", clients + 1),
            Channel::new("xfs-inodegc", (values.get("inodegc") as u32).max(1)),
        ];
        for group in 0..groups {
            channels.extend(["AGI", "AGF"].map(|header| Channel::new(format!("{header} {group}"), 1)));
        }
        TaskSet { programs, channels, tasks }
    }
}

fn by_loadfile(case: &Case) -> bool {
    case.name == CASES[1].name
}

fn run(ns: u64, values: &Values) -> Op {
    Op::Run(Work::uniform(ns, values.get("jitter") as u32))
}

/// A transaction that holds a header: `xfs_buf_lock()`, which is `down()`.
fn holding(semaphore: u32, ns: u64, values: &Values) -> [Op; 3] {
    [Op::Call(Call::Down { semaphore }), run(ns, values), Op::Call(Call::Up { semaphore })]
}

/// `xfs_inactive()` of an unlinked file: its extents and its inode are freed.
fn inactivate(group: u32, values: &Values) -> Vec<Op> {
    [holding(agf(group), values.get("agf"), values), holding(agi(group), values.get("agi"), values)].concat()
}

/// A client, whose first directory is in group `first`.
struct Client<'a> {
    case: &'a Case,
    values: &'a Values,
    load_file: &'a [Stretch],
    groups: u32,
    first: u32,
    /// The number of the program that inactivates a file of group 0.
    inactivate: u32,
}

impl Client<'_> {
    fn ops(&self, meet: Op) -> Vec<Op> {
        let loadfile = by_loadfile(self.case);
        let mut ops = vec![meet];
        ops.extend(loadfile.then_some(Op::Begin));
        for stretch in self.load_file {
            for ((cost, ..), (count, bytes)) in REQUESTS.into_iter().zip(stretch.requests) {
                // What is read or written is copied from or to the page cache.
                let ns = self.values.get(cost) + bytes * self.values.get("copy") / 1000;
                self.requests(ns, count as u32, loadfile, &mut ops);
            }
            if let Some((ns, then)) = self.event(stretch) {
                self.request(ns, &then, loadfile, &mut ops);
            }
        }
        ops.extend(loadfile.then_some(Op::Done));
        ops.push(Op::Repeat { to: 1, times: None });
        ops
    }

    /// Adds requests that are alike.
    fn requests(&self, ns: u64, count: u32, loadfile: bool, ops: &mut Vec<Op>) {
        if count == 0 {
            return;
        }
        let first = ops.len() as u32;
        self.request(ns, &[], loadfile, ops);
        if count > 1 {
            ops.push(Op::Repeat { to: first, times: Some(count) });
        }
    }

    /// Adds a request: its own work, and what it does then.
    fn request(&self, ns: u64, then: &[Op], loadfile: bool, ops: &mut Vec<Op>) {
        ops.extend((!loadfile).then_some(Op::Begin));
        ops.push(run(self.values.get("parse") + ns, self.values));
        ops.extend(then);
        ops.extend((!loadfile).then_some(Op::Done));
    }

    /// The work of the request that a stretch ends with, and what it does at the headers; `None` at the end of the load
    /// file.
    fn event(&self, stretch: &Stretch) -> Option<(u64, Vec<Op>)> {
        let Client { values, groups, first, .. } = *self;
        let group = (first + stretch.directory) % groups;
        let of = |name: &str| values.get(name);
        Some(match stretch.event {
            Event::Create => (of("open"), holding(agi(group), of("agi"), values).to_vec()),
            Event::Unlink => {
                let mut then = holding(agi(group), of("agi"), values).to_vec();
                match of("inodegc") {
                    0 => then.extend(inactivate(group, values)),
                    _ => {
                        let program = self.inactivate + group;
                        then.push(Op::Call(Call::QueueWork { workqueue: INODEGC, program }));
                    }
                }
                (of("unlink"), then)
            }
            Event::Flush => {
                let mut then = holding(agf(group), of("agf"), values).to_vec();
                then.push(Op::Call(Call::Io(Work::uniform(of("disk"), of("jitter") as u32))));
                (of("io"), then)
            }
            Event::End => return None,
        })
    }
}
