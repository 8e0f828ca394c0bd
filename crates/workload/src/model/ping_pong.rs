//! Pairs of tasks that write a byte to each other through two pipes, as in will-it-scale's context_switch1 and `perf
//! bench sched pipe`.

use crate::benchmark::{ParamDef, TaskSet, Values};
use crate::model::params;
use crate::{Channel, Op, Program, Task, Work};

/// The numbers that both models have.
pub(crate) const PARAMS: [ParamDef; 4] = [params::PIPE_WRITE, params::PIPE_READ, params::JITTER, params::FORK];

/// Pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs {
    pub(crate) pairs: u32,
    /// All begin at one moment, when the last has been started; else each as it is started.
    pub(crate) together: bool,
    /// How often a pair goes round; 0 for ever.
    pub(crate) loops: u32,
    /// Each pair is on one CPU: pair i on CPU i modulo this, or on CPU i if this is 0.
    pub(crate) pinned: Option<u32>,
}

const THERE: u32 = 0;
const BACK: u32 = 1;
const GO: u32 = 2;

impl Pairs {
    /// The programs, pipes and tasks. The parent of a pair forks the other, which gets its CPUs.
    pub(crate) fn build(self, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let work = |name| Op::Run(Work::uniform(values.get(name), jitter_pct));
        let (write, read) = (work("write"), work("read"));
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let mut programs =
            vec![program("child", self.child(write, read)), program("parent", self.parent(write, read, work("start")))];
        let pipes = |pair| ["there", "back"].map(|name| Channel::new(format!("{name} {pair}"), params::PIPE_BYTES));
        let mut channels: Vec<_> = (0..self.pairs).flat_map(pipes).collect();
        let task = |name: String, program, channels, i: u32, cpu: Option<u32>| {
            let start_ns = u64::from(i) * values.get("start");
            Task { affinity: cpu.map(|cpu| vec![cpu]), ..Task::plain(name, program, channels, start_ns) }
        };
        let parent = |i| task(format!("parent {i}"), 1, vec![2 * i, 2 * i + 1], i, self.cpu(i));
        let mut tasks: Vec<_> = (0..self.pairs).map(parent).collect();
        if self.together {
            let go = channels.len() as u32;
            channels.push(Channel::new("go", self.pairs));
            tasks.iter_mut().for_each(|task| task.channels = task.channels.iter().copied().chain([go]).collect());
            programs.push(program("main", vec![send(0), Op::Repeat { to: 0, times: Some(self.pairs) }]));
            tasks.push(task("main".to_owned(), 2, vec![go], self.pairs, None));
        }
        TaskSet { programs, channels, tasks }
    }

    fn child(self, write: Op, read: Op) -> Vec<Op> {
        vec![receive(THERE), read, write, send(BACK), Op::Repeat { to: 0, times: self.times() }]
    }

    fn parent(self, write: Op, read: Op, fork: Op) -> Vec<Op> {
        let mut ops: Vec<Op> = self.together.then_some(receive(GO)).into_iter().collect();
        if self.loops != 0 {
            ops.push(Op::Begin);
        }
        // All fork at once, when their CPUs have been given to them: the pairs begin on a machine that is full.
        ops.extend(self.together.then_some(fork));
        ops.push(Op::Fork { program: 0 });
        let to = ops.len() as u32;
        let round = [write, send(THERE), receive(BACK), read];
        match self.times() {
            None => ops.extend([Op::Begin].into_iter().chain(round).chain([Op::Done])),
            Some(_) => ops.extend(round),
        }
        ops.push(Op::Repeat { to, times: self.times() });
        if self.loops != 0 {
            ops.extend([Op::Wait, Op::Done]);
        }
        ops
    }

    fn cpu(self, pair: u32) -> Option<u32> {
        self.pinned.map(|cpus| if cpus == 0 { pair } else { pair % cpus })
    }

    fn times(self) -> Option<u32> {
        (self.loops != 0).then_some(self.loops)
    }
}

fn send(channel: u32) -> Op {
    // pipe_write() hints that the writer is about to sleep.
    Op::Send { channel, sync: true }
}

fn receive(channel: u32) -> Op {
    Op::Recv { channel }
}
