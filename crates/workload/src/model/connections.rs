//! Clients, each with a server task of its own at the other end of a connection, as in the benchmarks on sockets.

use crate::benchmark::TaskSet;
use crate::{Call, Channel, Op, Program, Task, Work};

/// The number of a task's channel for requests.
pub(crate) const REQUEST: u32 = 0;
/// That for replies.
pub(crate) const REPLY: u32 = 1;
/// The barrier from which all go.
const START: u32 = 2;
/// The first of the resources that all share.
pub(crate) const SHARED: u32 = 3;

/// How many messages a direction holds. One is under way; the rest is never used.
const CAPACITY: u32 = 8;

/// Waits until all clients are there.
pub(crate) fn barrier() -> Op {
    Op::Call(Call::Barrier { barrier: START })
}

/// Clients and servers, each with its name and its steps.
#[derive(Clone, Debug)]
pub(crate) struct Connections<'a> {
    pub(crate) clients: u32,
    pub(crate) server: (&'a str, Vec<Op>),
    /// It waits at the barrier if there is a main task.
    pub(crate) client: (&'a str, Vec<Op>),
    /// The last to come to the barrier: it is forked when all others are there. None where each client begins as it is
    /// forked.
    pub(crate) main: Option<&'a str>,
    /// The task that forks a server for each connection (`accept()`, then `fork()`), while the main task forks the
    /// clients. None where the shell starts all, as the threads of two processes.
    pub(crate) daemon: Option<&'a str>,
    /// Between the starts of two clients, ns.
    pub(crate) start_ns: u64,
    /// The resources that all tasks share, by name: each of capacity 1.
    pub(crate) shared: Vec<&'a str>,
    /// Tasks that belong to no connection.
    pub(crate) others: Vec<(&'a str, Vec<Op>)>,
}

impl Connections<'_> {
    /// How many tasks so many clients are, the main task and the daemon left out.
    pub(crate) fn nr_tasks(clients: u32, others: u64) -> u64 {
        2 * u64::from(clients) + others
    }

    /// The programs, channels and tasks.
    pub(crate) fn build(self) -> TaskSet {
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let n = self.clients;
        let mut programs = vec![program(self.server.0, self.server.1), program(self.client.0, self.client.1)];
        let mut channels: Vec<Channel> = (0..n)
            .flat_map(|i| {
                [Channel::new(format!("request {i}"), CAPACITY), Channel::new(format!("reply {i}"), CAPACITY)]
            })
            .collect();
        let start = 2 * n;
        channels.push(Channel::new("start", if self.main.is_some() { n + 1 } else { 1 }));
        let shared: Vec<u32> = (start + 1..).take(self.shared.len()).collect();
        channels.extend(self.shared.iter().map(|name| Channel::new(*name, 1)));
        let of_all = |own: [u32; 2]| own.into_iter().chain([start]).chain(shared.iter().copied()).collect();
        let main = 2 * n + self.others.len() as u32;
        let parents = self.daemon.map(|_| [main + 1, main]);
        let task = |which: usize, i: u32| {
            let name = format!("{} {i}", programs[which].name);
            // The first is forked when those who fork all sleep.
            let start_ns = (u64::from(i) + u64::from(parents.is_some())) * self.start_ns;
            let parent = parents.map(|parents| parents[which]);
            Task { parent, ..Task::plain(name, which as u32, of_all([2 * i, 2 * i + 1]), start_ns) }
        };
        let mut tasks: Vec<Task> = (0..n).flat_map(|i| [task(0, i), task(1, i)]).collect();
        let last_ns = u64::from(n) * self.start_ns;
        // Who forks the others is there from the start.
        let main = self.main.map(|name| match self.daemon {
            Some(_) => (name, vec![Op::Sleep(Work::uniform(last_ns + self.start_ns, 0)), barrier()], 0),
            None => (name, vec![barrier()], last_ns),
        });
        let others = self.others.into_iter().map(|(name, ops)| (name, ops, last_ns)).chain(main);
        for (name, ops, start_ns) in others {
            let index = programs.len() as u32;
            programs.push(program(name, ops));
            // They use neither of the first two; the numbers only keep the others' places.
            tasks.push(Task::plain(name.to_owned(), index, of_all([start; 2]), start_ns));
        }
        if let Some(name) = self.daemon {
            let index = programs.len() as u32;
            programs.push(program(name, vec![Op::Recv { channel: 0 }]));
            tasks.push(Task::plain(name.to_owned(), index, vec![channels.len() as u32], 0));
            channels.push(Channel::new(format!("{name} waits"), 1));
        }
        TaskSet { programs, channels, tasks }
    }
}
