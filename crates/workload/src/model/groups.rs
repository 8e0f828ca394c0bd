//! Groups of senders and receivers, each sender writing to every receiver of its group, as in hackbench and `perf bench
//! sched messaging`.
//!
//! A main task starts all, receivers of a group before its senders, and waits until each has said that it is ready.
//! Then it lets them go. In the benchmarks one byte in a pipe lets all go that poll it; here each gets a message of its
//! own, and the wake-ups are the same ones in the same order.

use crate::benchmark::{ParamDef, TaskSet, Values};
use crate::model::params;
use crate::{Call, Channel, ChannelCosts, Op, Program, Task, Work};

/// The channels that carry messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    Pipes,
    Sockets,
}

/// The kinds of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Are {
    Processes,
    Threads,
}

/// A kind of groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    pub(crate) are: Are,
    pub(crate) through: Through,
}

/// The numbers of a task's channels; its messages' begin after these.
const READY: u32 = 0;
const GO: u32 = 1;
const END: u32 = 2;
const ALL: [u32; 3] = [READY, GO, END];
const MESSAGES: u32 = 3;

impl Groups {
    /// The numbers of the model; `fds` and `size` are the benchmark's own.
    pub(crate) fn params(self, fds: &'static str, size: Option<&'static str>) -> Vec<ParamDef> {
        let own = |name, unit, value, max, origin| ParamDef { name, unit, value, low: 1, high: max, max, origin };
        let (write, read) = match self.through {
            Through::Pipes => (params::GROUP_PIPE_WRITE, params::GROUP_PIPE_READ),
            Through::Sockets => (params::GROUP_SOCKET_WRITE, params::GROUP_SOCKET_READ),
        };
        let start = if self.are == Are::Processes { params::FORK } else { params::CLONE };
        let mut all = vec![own("fds", "pairs", 20, 100, fds), params::LOOPS];
        all.extend(size.map(|origin| own("size", "bytes", 100, 4096, origin)));
        all.extend([write, read]);
        match self.through {
            Through::Pipes => all.extend([params::PIPE_LINES, params::PIPE_MESSAGE_LINES, params::PIPE_WAITED]),
            Through::Sockets => all.push(params::SOCKET_MEMORY),
        }
        all.extend([params::JITTER, start]);
        all
    }

    /// How many tasks so many groups are.
    pub(crate) fn nr_tasks(groups: u32, values: &Values) -> u64 {
        1 + 2 * u64::from(groups) * values.get("fds")
    }

    /// So many groups.
    pub(crate) fn build(self, groups: u32, size: u64, values: &Values) -> TaskSet {
        let (fds, loops) = (values.get("fds") as u32, values.get("loops") as u32);
        let jitter_pct = values.get("jitter") as u32;
        let work = |name| Op::Run(Work::uniform(values.get(name), jitter_pct));
        let (held, held_of_1, room) = match self.through {
            Through::Pipes => (params::pipe_capacity(size), params::PIPE_BYTES, params::pipe_room(size)),
            Through::Sockets => (params::socket_capacity(size), params::socket_capacity(1), params::socket_room(size)),
        };
        // Writers wait for a pipe's page one by one (exclusively), for a socket's buffer together.
        let sockets = self.through == Through::Sockets;
        let message = Op::Call(Call::RecvBatch { channel: MESSAGES, room, all: sockets });
        // Each message to a socket has memory of its own, which a lock of the whole machine guards; to a pipe, a place
        // in a page.
        let memory = sockets.then(|| Work::uniform(values.get("memory"), jitter_pct));
        let all = 2 * fds * groups;
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let programs = vec![
            program("main", main(all, loops)),
            program("receiver", receiver(message, work("read"), memory, (loops != 0).then_some(fds * loops))),
            program("sender", sender(work("write"), memory, fds, (loops != 0).then_some(loops))),
        ];

        // A pipe of a group has many writers, each on a CPU of its own at best: its lines follow them.
        let costs = match self.through {
            Through::Pipes => ChannelCosts {
                own_lines_pct: values.get("lines") as u32,
                message_lines_pct: values.get("message_lines") as u32,
                waited_ns: values.get("waited"),
            },
            Through::Sockets => ChannelCosts::default(),
        };
        let mut channels = vec![Channel::new("ready", held_of_1), Channel::new("go", all), Channel::new("end", all)];
        // Threads are all of the one process that main begins in.
        let process = (self.are == Are::Threads).then_some(0);
        let task = |name: String, program, channels| Task { process, ..Task::plain(name, program, channels, 0) };
        let mut tasks = vec![task("main".to_owned(), 0, ALL.to_vec())];
        let lock = memory.map(|_| channels.len() as u32);
        channels.extend(lock.map(|_| Channel::new("memory", 1)));
        for group in 0..groups {
            let first = channels.len() as u32;
            let messages = |i| Channel { costs, ..Channel::new(format!("messages {group}.{i}"), held) };
            channels.extend((0..fds).map(messages));
            let own = |from: u32, to: u32| ALL.into_iter().chain(from..to).chain(lock).collect::<Vec<u32>>();
            let receiver = |i| task(format!("receiver {group}.{i}"), 1, own(first + i, first + i + 1));
            let sender = |i| task(format!("sender {group}.{i}"), 2, own(first, first + fds));
            tasks.extend((0..fds).map(receiver).chain((0..fds).map(sender)));
        }
        // Main is there first, and starts the others one after another.
        for (task, i) in tasks.iter_mut().skip(1).zip(1..) {
            task.start_ns = i * values.get("start");
        }
        TaskSet { programs, channels, tasks }
    }
}

fn send(channel: u32) -> Op {
    // pipe_write() and sock_def_readable() hint that the writer is about to sleep, true or not.
    Op::Send { channel, sync: true }
}

fn receive(channel: u32) -> Op {
    Op::Recv { channel }
}

fn main(all: u32, loops: u32) -> Vec<Op> {
    let times = Some(all);
    let mut ops = vec![receive(READY), Op::Repeat { to: 0, times }];
    if loops == 0 {
        ops.extend([send(GO), Op::Repeat { to: 2, times }]);
    } else {
        ops.extend([Op::Begin, send(GO), Op::Repeat { to: 3, times }]);
        ops.extend([receive(END), Op::Repeat { to: 5, times }, Op::Done]);
    }
    ops
}

/// Under the lock that is the last of the task's channels.
fn spin(memory: Option<Work>, last: u32) -> Option<Op> {
    memory.map(|hold| Op::Call(Call::Spin { lock: last, hold }))
}

fn receiver(message: Op, read: Op, memory: Option<Work>, messages: Option<u32>) -> Vec<Op> {
    let begin = [send(READY), receive(GO)];
    let mut round = vec![message, read];
    round.extend(spin(memory, MESSAGES + 1));
    let (to, times) = (begin.len() as u32, messages);
    if messages.is_none() {
        round.insert(0, Op::Begin);
        round.push(Op::Done);
    }
    round.push(Op::Repeat { to, times });
    round.extend(messages.map(|_| send(END)));
    begin.into_iter().chain(round).collect()
}

fn sender(write: Op, memory: Option<Work>, fds: u32, loops: Option<u32>) -> Vec<Op> {
    let mut ops = vec![send(READY), receive(GO)];
    let free = spin(memory, MESSAGES + fds);
    ops.extend((0..fds).flat_map(|i| [Some(write), free, Some(send(MESSAGES + i))].into_iter().flatten()));
    ops.push(Op::Repeat { to: 2, times: loops });
    ops.extend(loops.map(|_| send(END)));
    ops
}
