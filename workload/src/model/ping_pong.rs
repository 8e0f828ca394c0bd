//! Pairs of tasks that write a byte to each other through two pipes: what will-it-scale's context_switch1 and
//! `perf bench sched pipe` have in common.

use crate::benchmark::{ParamDef, TaskSet, Values};
use crate::model::params;
use crate::{Call, Channel, Op, Program, Task, Work};

/// The numbers that both models have.
pub(crate) const PARAMS: [ParamDef; 6] =
    [params::PIPE_WRITE, params::PIPE_READ, params::PIPE_MUTEX, params::PIPE_LINES, params::JITTER, params::FORK];

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
/// The numbers of the pipes' mutexes are as many above theirs.
const PIPES: u32 = 2;
const GO: u32 = 2 * PIPES;

impl Pairs {
    /// The programs, pipes and tasks. The parent of a pair forks the other, which gets its CPUs.
    pub(crate) fn build(self, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let work = |ns| Work::uniform(ns, jitter_pct);
        let mutex = values.get("mutex");
        let call = |name| Op::Run(work(values.get(name).saturating_sub(mutex)));
        let (hold, lines) = (work(mutex), values.get("lines") as u32);
        let calls = Calls { write: call("write"), read: call("read"), hold, lines };
        let start = Op::Run(work(values.get("start")));
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let mut programs = vec![program("child", self.child(&calls)), program("parent", self.parent(&calls, start))];
        let channel = |name: String, capacity| Channel { name, capacity };
        let pipes = |pair| {
            let pipe = ["there", "back"].map(|name| channel(format!("{name} {pair}"), params::PIPE_BYTES));
            pipe.into_iter().chain(["there", "back"].map(|name| channel(format!("mutex of {name} {pair}"), 1)))
        };
        let mut channels: Vec<_> = (0..self.pairs).flat_map(pipes).collect();
        let task = |name: String, program, channels, i: u32, cpu: Option<u32>| {
            let start_ns = u64::from(i) * values.get("start");
            Task { affinity: cpu.map(|cpu| vec![cpu]), ..Task::plain(name, program, channels, start_ns) }
        };
        let parent = |i| task(format!("parent {i}"), 1, (GO * i..GO * (i + 1)).collect(), i, self.cpu(i));
        let mut tasks: Vec<_> = (0..self.pairs).map(parent).collect();
        if self.together {
            let go = channels.len() as u32;
            channels.push(channel("go".to_owned(), self.pairs));
            tasks.iter_mut().for_each(|task| task.channels = task.channels.iter().copied().chain([go]).collect());
            programs.push(program("main", vec![send(0), Op::Repeat { to: 0, times: Some(self.pairs) }]));
            tasks.push(task("main".to_owned(), 2, vec![go], self.pairs, None));
        }
        TaskSet { programs, channels, tasks }
    }

    fn child(self, calls: &Calls) -> Vec<Op> {
        let round = calls.read(THERE).into_iter().chain(calls.write(BACK));
        round.chain([Op::Repeat { to: 0, times: self.times() }]).collect()
    }

    fn parent(self, calls: &Calls, fork: Op) -> Vec<Op> {
        let mut ops: Vec<Op> = self.together.then_some(receive(GO)).into_iter().collect();
        if self.loops != 0 {
            ops.push(Op::Begin);
        }
        // All fork at once, when their CPUs have been given to them: the pairs begin on a machine that is full.
        ops.extend(self.together.then_some(fork));
        ops.push(Op::Fork { program: 0 });
        let to = ops.len() as u32;
        let round = calls.write(THERE).into_iter().chain(calls.read(BACK));
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

/// The calls on a pipe.
struct Calls {
    write: Op,
    read: Op,
    /// How long they hold its mutex, and how many lines they fetch.
    hold: Work,
    lines: u32,
}

impl Calls {
    fn locked(&self, pipe: u32) -> Op {
        Op::Call(Call::Spin { lock: PIPES + pipe, hold: self.hold, lines: self.lines })
    }

    fn write(&self, pipe: u32) -> [Op; 3] {
        [self.locked(pipe), self.write, send(pipe)]
    }

    fn read(&self, pipe: u32) -> [Op; 3] {
        let message = Call::RecvBatch { channel: pipe, room: params::PIPE_PAGE, all: false, lines: 0 };
        [Op::Call(message), self.locked(pipe), self.read]
    }
}

fn send(channel: u32) -> Op {
    // pipe_write() hints that the writer is about to sleep.
    Op::Send { channel, sync: true }
}

fn receive(channel: u32) -> Op {
    Op::Recv { channel }
}
