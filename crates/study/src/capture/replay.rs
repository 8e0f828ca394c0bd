//! What the programs of a captured model do in a time, without a scheduler: a check of the model against the recording.
//!
//! Tasks run on as many CPUs as were seen, the first that is ready first, by turns of a slice. A task that is woken is
//! ready after the time that it waited on average when it was recorded, which has the way out of idle in it, and costs
//! are what it ran beyond its work. So nothing here depends on a machine or a kernel, and what does not come out as it
//! was recorded is the fault of the model: it has left out what paced the tasks, or waits for what nobody does.

use super::groups::Group;
use super::program::{Amount, CapturedOp, CapturedProgram};
use super::timeline::{Step, TaskNr, Timelines};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How long a task runs while others are ready, ns.
const SLICE_NS: u64 = 3_000_000;
/// The most steps and pieces of work that are done; what comes after them is not looked at.
const MOST_STEPS: u64 = 3_000_000;
/// The most tasks at a time.
const MOST_TASKS: usize = 200_000;
/// By how much a group may run longer than it was awake when it was recorded before its rounds are taken to be too
/// fast, and the part of a CPU that says nothing.
const MOST_BUSIER: f64 = 1.5;
const BUSY_NOISE: f64 = 0.02;
/// How many times as many wake-ups it may make, and how many say nothing. Where CPUs are busier than this, the number
/// of wake-ups is a matter of who preempts whom.
const MOST_WAKEUPS: f64 = 2.0;
const WAKEUPS_NOISE: f64 = 20.0;
pub(super) const SATURATED: f64 = 0.8;

/// What tasks did in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Activity {
    /// The number of their waits that ended.
    pub(super) wakeups: u64,
    /// How long they ran, ns.
    pub(super) ran_ns: u64,
    /// How long they did not sleep, ns: they ran, or waited for a CPU. How much of it they ran is a matter of weights,
    /// quotas and affinities, of which nothing is known here.
    pub(super) awake_ns: u64,
    /// Of that, their own work, ns.
    work_ns: f64,
    /// How many messages they sent.
    sends: u64,
}

impl std::ops::Add for Activity {
    type Output = Activity;

    fn add(self, other: Activity) -> Activity {
        Activity {
            wakeups: self.wakeups + other.wakeups,
            ran_ns: self.ran_ns + other.ran_ns,
            awake_ns: self.awake_ns + other.awake_ns,
            work_ns: self.work_ns + other.work_ns,
            sends: self.sends + other.sends,
        }
    }
}

impl Activity {
    /// What was recorded of tasks.
    pub(super) fn recorded(lines: &Timelines, tasks: impl Iterator<Item = TaskNr>) -> Self {
        let mut sum = Activity::default();
        for task in tasks {
            let line = &lines.tasks[task as usize];
            let begins = line.began_ns.unwrap_or(0).max(lines.from_ns);
            let mut asleep_ns = line.asleep_since.map_or(0, |since| lines.to_ns.saturating_sub(since.max(begins)));
            sum.ran_ns += line.ran_ns;
            for timed in &line.steps {
                match timed.step {
                    Step::Run(ns) => sum.work_ns += ns,
                    Step::Wait { began_ns, .. } => {
                        sum.wakeups += 1;
                        asleep_ns += timed.t_ns.saturating_sub(began_ns.max(begins));
                    }
                    Step::Wake { .. } => sum.sends += 1,
                    _ => {}
                }
            }
            sum.awake_ns += lines.to_ns.saturating_sub(begins).saturating_sub(asleep_ns).max(line.ran_ns);
        }
        sum
    }

    /// What it costs to wait or to send once, ns: what tasks ran beyond their work.
    fn overhead_ns(&self) -> u64 {
        ((self.ran_ns as f64 - self.work_ns).max(0.0) / (self.wakeups + self.sends).max(1) as f64) as u64
    }
}

/// What groups did.
#[derive(Clone, Debug, Default)]
pub(super) struct Replayed {
    /// By group.
    pub(super) of: Vec<Activity>,
    /// In this time, ns.
    pub(super) length_ns: u64,
    /// The length of the window that was recorded, ns, and how busy its CPUs were, of 1.
    window_ns: u64,
    recorded_busy: f64,
}

impl Replayed {
    /// Whether a group does so much more than was recorded that its rounds take less time than they took.
    pub(super) fn is_too_fast(&self, of: &Activity, recorded: &Activity) -> bool {
        let length = self.length_ns.max(1) as f64;
        let as_long = length / self.window_ns.max(1) as f64;
        let busier = of.ran_ns as f64 > MOST_BUSIER * recorded.awake_ns as f64 * as_long + BUSY_NOISE * length;
        let wakes = of.wakeups as f64 > MOST_WAKEUPS * recorded.wakeups as f64 * as_long + WAKEUPS_NOISE;
        busier || (wakes && self.recorded_busy < SATURATED)
    }
}

/// Does the programs of groups for this time, ns, or as far as they come.
pub(super) fn replay(lines: &Timelines, groups: &[&Group], length_ns: u64) -> Replayed {
    let nr_cpus = lines.busy_ns.len().max(1);
    let window_ns = lines.to_ns - lines.from_ns;
    let recorded_busy = lines.busy_ns.iter().sum::<u64>() as f64 / (window_ns.max(1) as f64 * nr_cpus as f64);
    let ends = |group: &&Group| group.programs.values().filter(|program| program.ends_rounds()).count();
    let mut play = Play {
        lines,
        groups,
        in_round: groups.iter().map(ends).collect(),
        of: vec![Activity::default(); groups.len()],
        players: Vec::new(),
        now_ns: 0,
        steps: 0,
        events: BinaryHeap::new(),
        nr_events: 0,
        idle_cpus: nr_cpus,
        ready: VecDeque::new(),
        mail: FxHashMap::default(),
        waiting: FxHashMap::default(),
    };
    for (number, group) in groups.iter().enumerate() {
        let forked = group.forked();
        let copies = if group.per_instance() { group.instances } else { 1 };
        for copy in 0..copies {
            let own = group.programs.keys().filter(|task| !forked.contains(task));
            own.for_each(|&task| play.start((number, copy), task, None));
        }
    }
    let length_ns = play.run(length_ns);
    Replayed { of: play.of, length_ns, window_ns, recorded_busy }
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// A sleep of a task ends.
    Expires(usize),
    /// A task that was woken is ready.
    Ready(usize),
    /// A CPU has done a piece of a task's work.
    Ran(usize),
}

/// A group, and which of its instances.
type Instance = (usize, u32);
/// A mailbox, which is a task's, or the barrier at the end of a round.
type Place = (Instance, Option<TaskNr>);

/// A task that does its program.
struct Player<'a> {
    of: Instance,
    task: TaskNr,
    program: Option<&'a CapturedProgram>,
    step: usize,
    /// What is left of the work that it does, ns, and what of it a CPU does now.
    left_ns: u64,
    piece_ns: u64,
    /// How many times it took a value of a distribution.
    drawn: usize,
    /// When its timer expired last, ns.
    expired_ns: Option<u64>,
    /// Since when it is awake, ns; `None` if it sleeps.
    awake_since: Option<u64>,
    parent: Option<usize>,
    children: u32,
    waits_for_children: bool,
}

struct Play<'a> {
    lines: &'a Timelines,
    groups: &'a [&'a Group],
    /// By group: how many of its tasks end their rounds together.
    in_round: Vec<usize>,
    of: Vec<Activity>,
    players: Vec<Player<'a>>,
    now_ns: u64,
    steps: u64,
    events: BinaryHeap<Reverse<(u64, u64, Happens)>>,
    nr_events: u64,
    idle_cpus: usize,
    ready: VecDeque<usize>,
    mail: FxHashMap<Place, u64>,
    waiting: FxHashMap<Place, VecDeque<usize>>,
}

impl<'a> Play<'a> {
    fn start(&mut self, of: Instance, task: TaskNr, parent: Option<usize>) {
        if self.players.len() >= MOST_TASKS {
            self.steps = MOST_STEPS;
            return;
        }
        let program = self.groups[of.0].programs.get(&task);
        self.ready.push_back(self.players.len());
        self.players.push(Player {
            of,
            task,
            program,
            step: 0,
            left_ns: 0,
            piece_ns: 0,
            drawn: 0,
            expired_ns: None,
            awake_since: Some(self.now_ns),
            parent,
            children: 0,
            waits_for_children: false,
        });
    }

    /// Goes on up to this time, ns; returns how far it came.
    fn run(&mut self, length_ns: u64) -> u64 {
        self.fill_cpus();
        while let Some(&Reverse((at_ns, _, what))) = self.events.peek() {
            if at_ns > length_ns || self.steps >= MOST_STEPS {
                break;
            }
            self.events.pop();
            self.now_ns = at_ns;
            match what {
                Happens::Expires(number) => self.wake(number),
                Happens::Ready(number) => self.ready.push_back(number),
                Happens::Ran(number) => self.ran(number),
            }
            self.fill_cpus();
        }
        let to_ns = if self.steps >= MOST_STEPS { self.now_ns } else { length_ns };
        for Reverse((at_ns, _, what)) in &self.events {
            if let Happens::Ran(number) = *what {
                let player = &self.players[number];
                self.of[player.of.0].ran_ns += player.piece_ns.saturating_sub(at_ns.saturating_sub(to_ns));
            }
        }
        for player in &self.players {
            let since = player.awake_since.unwrap_or(to_ns);
            self.of[player.of.0].awake_ns += to_ns.saturating_sub(since);
        }
        to_ns
    }

    fn at(&mut self, at_ns: u64, what: Happens) {
        self.nr_events += 1;
        self.events.push(Reverse((at_ns, self.nr_events, what)));
    }

    fn fill_cpus(&mut self) {
        while self.idle_cpus > 0
            && let Some(number) = self.ready.pop_front()
        {
            self.idle_cpus -= 1;
            self.act(number);
        }
    }

    /// A piece of a task's work is done.
    fn ran(&mut self, number: usize) {
        // A piece counts as a step: work may take years.
        self.steps += 1;
        let player = &mut self.players[number];
        player.left_ns -= player.piece_ns;
        self.of[player.of.0].ran_ns += player.piece_ns;
        if player.left_ns > 0 && !self.ready.is_empty() {
            self.idle_cpus += 1;
            self.ready.push_back(number);
        } else {
            self.act(number);
        }
    }

    /// A task that sleeps is woken.
    fn wake(&mut self, number: usize) {
        let player = &mut self.players[number];
        player.awake_since = Some(self.now_ns);
        self.of[player.of.0].wakeups += 1;
        player.left_ns += self.groups[player.of.0].recorded.overhead_ns();
        let (runs, waited_ns) = self.lines.tasks[player.task as usize].latencies;
        self.at(self.now_ns + waited_ns / runs.max(1), Happens::Ready(number));
    }

    /// A task on a CPU does its steps, up to one that takes time.
    fn act(&mut self, number: usize) {
        while self.steps < MOST_STEPS {
            let player = &mut self.players[number];
            if player.left_ns > 0 {
                player.piece_ns = player.left_ns.min(SLICE_NS);
                let at_ns = self.now_ns.saturating_add(player.piece_ns);
                return self.at(at_ns, Happens::Ran(number));
            }
            self.steps += 1;
            let goes_on = match self.next_op(number) {
                Some(op) => self.op(number, op),
                None => self.exits(number),
            };
            if !goes_on {
                self.idle_cpus += 1;
                let player = &mut self.players[number];
                let since = player.awake_since.take().unwrap_or(self.now_ns);
                self.of[player.of.0].awake_ns += self.now_ns.saturating_sub(since);
                return;
            }
        }
    }

    fn next_op(&mut self, number: usize) -> Option<&'a CapturedOp> {
        let player = &mut self.players[number];
        let program = player.program?;
        let (first, round) = (program.first.len(), program.for_ever.len());
        let at = player.step;
        player.step += 1;
        if player.step >= first + round && round > 0 {
            player.step = first;
        }
        program.first.get(at).or_else(|| program.for_ever.get(at.checked_sub(first)?))
    }

    /// Does a step. Returns whether the task goes on; otherwise it sleeps.
    fn op(&mut self, number: usize, op: &CapturedOp) -> bool {
        let of = self.players[number].of;
        match op {
            CapturedOp::Run(amount) => {
                let ns = self.draw(number, amount);
                self.players[number].left_ns = ns;
            }
            CapturedOp::Send { to, .. } => {
                self.players[number].left_ns = self.groups[of.0].recorded.overhead_ns();
                self.of[of.0].sends += 1;
                let place = (of, Some(self.groups[of.0].mailbox(*to)));
                match self.waiting.get_mut(&place).and_then(VecDeque::pop_front) {
                    Some(reader) => self.wake(reader),
                    None => *self.mail.entry(place).or_default() += 1,
                }
            }
            CapturedOp::Receive => {
                let place = (of, Some(self.groups[of.0].mailbox(self.players[number].task)));
                match self.mail.get_mut(&place).filter(|count| **count > 0) {
                    Some(count) => *count -= 1,
                    None => {
                        self.waiting.entry(place).or_default().push_back(number);
                        return false;
                    }
                }
            }
            CapturedOp::Sleep(amount) => {
                let ns = self.draw(number, amount);
                return self.sleeps_until(number, self.now_ns.saturating_add(ns));
            }
            CapturedOp::SleepUntil(at_ns) => return self.sleeps_until(number, *at_ns),
            CapturedOp::Timer(period_ns) => {
                let next = self.players[number].expired_ns.unwrap_or(self.now_ns).saturating_add(*period_ns);
                self.players[number].expired_ns = Some(next.max(self.now_ns));
                return self.sleeps_until(number, next);
            }
            CapturedOp::Fork(child) => {
                self.players[number].children += 1;
                self.start(of, *child, Some(number));
            }
            CapturedOp::WaitForChildren if self.players[number].children > 0 => {
                self.players[number].waits_for_children = true;
                return false;
            }
            CapturedOp::EndOfRound => return self.ends_round(number),
            CapturedOp::WaitForChildren
            | CapturedOp::Softirq
            | CapturedOp::Exec
            | CapturedOp::Begin
            | CapturedOp::Done => {}
        }
        true
    }

    fn draw(&mut self, number: usize, amount: &Amount) -> u64 {
        match amount {
            Amount::Ns(ns) => *ns,
            Amount::OneOf(values) => {
                let player = &mut self.players[number];
                player.drawn += 1;
                // Through all of them in turn; there are fewer than this prime.
                values[(67 * player.drawn + number) % values.len()]
            }
        }
    }

    fn sleeps_until(&mut self, number: usize, at_ns: u64) -> bool {
        if at_ns > self.now_ns {
            self.at(at_ns, Happens::Expires(number));
        }
        at_ns <= self.now_ns
    }

    fn ends_round(&mut self, number: usize) -> bool {
        let of = self.players[number].of;
        let all = self.in_round[of.0];
        let waiting = self.waiting.entry((of, None)).or_default();
        if waiting.len() + 1 < all {
            waiting.push_back(number);
            return false;
        }
        std::mem::take(waiting).into_iter().for_each(|other| self.wake(other));
        true
    }

    fn exits(&mut self, number: usize) -> bool {
        if let Some(parent) = self.players[number].parent {
            let of_parent = &mut self.players[parent];
            of_parent.children -= 1;
            if of_parent.children == 0 && std::mem::take(&mut of_parent.waits_for_children) {
                self.wake(parent);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::timeline::{TimedStep, Timeline};
    use super::*;
    use std::collections::BTreeMap;

    const MS: u64 = 1_000_000;

    /// A window of 100 ms in which task 0, driven by a timer, asked task 1 three times every 10 ms.
    fn recorded() -> Timelines {
        let mut lines = Timelines { to_ns: 100 * MS, busy_ns: vec![600_000; 2], ..Timelines::default() };
        let asleep_since = Some(90 * MS + 200_000);
        let line = Timeline { ran_ns: 600_000, latencies: (10, 20_000), asleep_since, ..Timeline::default() };
        lines.tasks.resize(2, line);
        for n in 0..10 * 3 {
            let t_ns = n / 3 * 10 * MS + n % 3 * 50_000;
            let began_ns = if n % 3 == 0 { (n / 3 * 10 * MS).saturating_sub(9_800_000) } else { t_ns - 30_000 };
            let mut push = |task: usize, step| lines.tasks[task].steps.push(TimedStep { t_ns, step });
            push(0, Step::Wait { began_ns, by: (n % 3 > 0).then_some(1) });
            push(0, Step::Run(20_000.0));
            push(1, Step::Wait { began_ns, by: Some(0) });
            push(1, Step::Run(20_000.0));
        }
        lines
    }

    fn group(lines: &Timelines, asks: Vec<CapturedOp>) -> Group {
        let run = CapturedOp::Run(Amount::Ns(20_000));
        let answers = vec![CapturedOp::Receive, run, CapturedOp::Send { to: 0, sync: true }];
        let program = |for_ever| CapturedProgram { first: Vec::new(), for_ever };
        Group::of(lines, BTreeMap::from([(0, program(asks)), (1, program(answers))]))
    }

    #[test]
    fn rounds_with_their_timer_take_the_time_that_was_recorded_and_those_without_do_not() {
        let lines = recorded();
        let run = CapturedOp::Run(Amount::Ns(20_000));
        let asks = [run, CapturedOp::Send { to: 1, sync: true }, CapturedOp::Receive];
        let burst = [&asks[..], &asks, &asks, &[CapturedOp::Timer(10 * MS)]].concat();
        let paced = group(&lines, burst);
        let found = replay(&lines, &[&paced], 100 * MS);
        assert_eq!(found.length_ns, 100 * MS);
        assert!(found.of[0].wakeups.abs_diff(70) <= 1, "{found:?}");
        assert!(!found.is_too_fast(&found.of[0], &paced.recorded), "{found:?}");

        let endless = group(&lines, asks.to_vec());
        let found = replay(&lines, &[&paced, &endless], 100 * MS);
        assert!(!found.is_too_fast(&found.of[0], &paced.recorded), "{found:?}");
        assert!(found.is_too_fast(&found.of[1], &endless.recorded), "{found:?}");
    }

    #[test]
    fn who_computes_shares_the_cpus_with_all_others() {
        let mut lines = Timelines { to_ns: 90 * MS, busy_ns: vec![90 * MS; 2], ..Timelines::default() };
        lines.tasks.resize(3, Timeline { ran_ns: 60 * MS, ..Timeline::default() });
        let hog = |task| {
            let program = CapturedProgram { first: Vec::new(), for_ever: vec![CapturedOp::Run(Amount::Ns(50 * MS))] };
            Group::of(&lines, BTreeMap::from([(task, program)]))
        };
        let hogs = [hog(0), hog(1), hog(2)];
        let found = replay(&lines, &hogs.each_ref(), 90 * MS);
        assert_eq!(found.of.iter().map(|of| of.ran_ns).sum::<u64>(), 180 * MS);
        assert!(found.of.iter().all(|of| of.ran_ns.abs_diff(60 * MS) <= SLICE_NS), "{found:?}");
    }

    #[test]
    fn work_of_a_century_is_followed_as_far_as_steps_go() {
        let century = 1 << 61;
        let mut lines = Timelines { to_ns: century, busy_ns: vec![century], ..Timelines::default() };
        lines.tasks.push(Timeline { ran_ns: century, ..Timeline::default() });
        let program = CapturedProgram { first: Vec::new(), for_ever: vec![CapturedOp::Run(Amount::Ns(century))] };
        let found = replay(&lines, &[&Group::of(&lines, BTreeMap::from([(0, program)]))], century);
        assert!(found.length_ns <= MOST_STEPS * SLICE_NS, "{found:?}");
        assert_eq!(found.of[0].ran_ns, found.length_ns, "it has run all the time");
    }

    #[test]
    fn a_round_without_time_ends_nevertheless() {
        let lines = recorded();
        let asks = vec![CapturedOp::Run(Amount::Ns(0)), CapturedOp::Begin];
        assert!(replay(&lines, &[&group(&lines, asks)], 100 * MS).length_ns < 100 * MS);
    }
}
