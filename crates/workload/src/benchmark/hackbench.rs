//! hackbench: groups of tasks that send each other messages.

use crate::benchmark::{Benchmark, Case, Measures, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::groups::{Are, Groups, Through};

/// The cases: what tasks are, and what messages go through.
const KINDS: [(&str, &str, Are, Through); 4] = [
    ("process-pipe", "processes that send messages through pipes", Are::Processes, Through::Pipes),
    ("process-sockets", "processes that send messages through Unix sockets", Are::Processes, Through::Sockets),
    ("thread-pipe", "threads that send messages through pipes", Are::Threads, Through::Pipes),
    ("thread-sockets", "threads that send messages through Unix sockets", Are::Threads, Through::Sockets),
];

const CASES: [Case; 4] = {
    let mut cases = [case(0); 4];
    let mut i = 1;
    while i < KINDS.len() {
        cases[i] = case(i);
        i += 1;
    }
    cases
};

const fn case(kind: usize) -> Case {
    let (name, doc, ..) = KINDS[kind];
    Case { name, doc, metric: "throughput", unit: "messages/s", higher_is_better: true }
}

/// hackbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hackbench;

fn groups(case: &Case) -> Groups {
    let &(_, _, are, through) = KINDS.iter().find(|kind| kind.0 == case.name).expect("a case of these");
    Groups { are, through }
}

impl Benchmark for Hackbench {
    fn name(&self) -> &'static str {
        "hackbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N groups of fds senders and fds receivers each; every sender writes to every receiver of its group in \
         turn.\n\n\
         hackbench prints the time that a number of loops takes. Published tables call that throughput, more being \
         better, and so does the model: it goes on for ever and counts messages in the measured time. L loops of N \
         groups are N x fds x fds x L messages, and take that many over the throughput.\n\n\
         Processes and threads differ in how long they take to start; a switch between either costs what the machine \
         says. A task that waits to write needs a free page of a pipe, or three quarters of a socket's buffer."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        let fds = "hackbench.c (-f); 14 make the 28 tasks a group of some published tables";
        groups(case).params(fds, Some("hackbench.c (-s): sets how many messages a pipe or socket holds"))
    }

    fn load_label(&self, _: &Case, groups: u32) -> String {
        if groups == 1 { "1 group".to_owned() } else { format!("{groups} groups") }
    }

    fn nr_tasks(&self, _: &Case, groups: u32, values: &Values) -> u64 {
        Groups::nr_tasks(groups, values)
    }

    fn published_run(&self, case: &Case) -> ShortestRun {
        // Through pipes the machine goes slowly to and fro between reading each message when it comes and reading many.
        let pipes = groups(case).through == Through::Pipes;
        let long = ShortestRun { settle_ns: 800_000_000, time_ns: 250_000_000 };
        if pipes { long } else { ShortestRun::default() }
    }

    fn measures(&self, case: &Case, values: &Values) -> Measures {
        Measures::of_loops(case, values)
    }

    /// hackbench prints the time of a number of loops, through which each group goes; the model counts messages.
    fn printed(&self, groups: u64, messages: f64) -> f64 {
        groups as f64 / messages
    }

    fn build(&self, case: &Case, n: u32, values: &Values) -> TaskSet {
        groups(case).build(n, values.get("size"), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Op};
    use std::collections::BTreeMap;

    /// What two groups of three pairs that go round five times are made of.
    fn ends() -> (TaskSet, Measures) {
        let case = &CASES[0];
        let options = BTreeMap::from([("fds".to_owned(), 3), ("loops".to_owned(), 5)]);
        let values = Values::new("hackbench", &Hackbench.params(case), &options).unwrap();
        (Hackbench.build(case, 2, &values), Hackbench.measures(case, &values))
    }

    /// How often a program without loops in loops does a step.
    fn times(ops: &[Op], step: usize) -> u32 {
        let around = ops.iter().enumerate().find_map(|(end, op)| match *op {
            Op::Repeat { to, times } if (to as usize..end).contains(&step) => times,
            _ => None,
        });
        around.unwrap_or(1)
    }

    #[test]
    fn with_loops_every_message_that_is_sent_is_received() {
        let (parts, _) = ends();
        let mut balance = vec![(0, 0); parts.channels.len()];
        for task in &parts.tasks {
            let ops = &parts.programs[task.program as usize].ops;
            for (step, op) in ops.iter().enumerate() {
                match *op {
                    Op::Send { channel, .. } => balance[task.channels[channel as usize] as usize].0 += times(ops, step),
                    Op::Recv { channel } | Op::Call(Call::RecvBatch { channel, .. }) => {
                        balance[task.channels[channel as usize] as usize].1 += times(ops, step)
                    }
                    _ => {}
                }
            }
        }
        assert!(balance.iter().all(|(sent, received)| sent == received), "{balance:?}");
        assert_eq!(balance[..3], [(12, 12); 3]);
        assert_eq!(balance[3..], [(15, 15); 6]);
    }

    #[test]
    fn with_loops_the_time_from_the_start_to_the_last_end_is_one_transaction() {
        let (parts, measures) = ends();
        assert_eq!(measures, Measures::TIME);
        let marks =
            |op: Op| parts.programs.iter().flat_map(|program| &program.ops).filter(|other| **other == op).count();
        assert_eq!((marks(Op::Begin), marks(Op::Done)), (1, 1));
        let main = &parts.programs[0].ops;
        assert_eq!((main[2], main.last()), (Op::Begin, Some(&Op::Done)));
    }
}
