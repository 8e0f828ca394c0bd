//! Workloads made by chance out of all that a workload's file can say: every kind of resource and of step, phases,
//! distributions, control groups with quotas, realtime and deadline tasks, interrupts, and what changes during a run.

use crate::splitmix64::Random;
use std::fmt::Write;

/// What a side can have.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// CPUs of the machine.
    pub cpus: u64,
    /// Control groups, which kernels have from v5.10 on here.
    pub groups: bool,
    /// `cpu.max.burst` and `cpu.idle`, from v5.15 on.
    pub bursts: bool,
    /// Utilisation clamps, and tasks of the realtime classes beside CPUs that go offline: not under sched_ext.
    pub fair: bool,
}

/// The text of a workload. What an administrator changes is in it only under a scheduler of sched_ext.
pub fn text(random: &mut Random, allowed: Allowed) -> String {
    let groups = if allowed.groups { *random.of(&[0, 0, 1, 2, 3]) } else { 0 };
    let Allowed { cpus, .. } = allowed;
    let mut file = File { random, allowed, cpus, groups, text: String::new(), phases: 0, tasks: Vec::new() };
    file.line("[workload]\nbenchmark = \"random\"\ncase = \"x\"\nmetric = \"throughput\"\nunit = \"x/s\"");
    file.line("better = \"higher\"");
    if file.one_in(3) {
        file.line("ramp = \"1ms\"");
    }
    file.line("\n[[distribution]]\nname = \"d\"\nns = [900, 1000, 1250, 4000, 90000]");
    (1..=groups).for_each(|number| file.group(number));
    for number in 0..1 + file.random.below(4) {
        file.pattern(number);
    }
    if file.one_in(4) {
        file.interrupt();
    }
    if !allowed.fair {
        file.changes();
    }
    file.text
}

/// A file that is being written. Each of its patterns has a number, which its names end in.
struct File<'a> {
    random: &'a mut Random,
    allowed: Allowed,
    cpus: u64,
    groups: u64,
    text: String,
    /// How many phases there are so far.
    phases: u64,
    /// The names of tasks so far.
    tasks: Vec<String>,
}

impl File<'_> {
    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A time, and how it varies.
    fn time(&mut self, key: &str) -> String {
        if self.one_in(6) {
            return format!("{{{key} = {{from = \"d\"}}}}");
        }
        let time = self.random.of(&["800ns", "5us", "50us", "50us", "300us", "2ms"]);
        format!("{{{key} = \"{time}\", jitter = {}}}", self.random.of(&[0, 0, 20, 100]))
    }

    fn run(&mut self) -> String {
        self.time("run")
    }

    /// Some CPUs of the machine, as a list.
    fn some_cpus(&mut self) -> String {
        let first = self.random.below(self.cpus);
        let last = first + self.random.below(self.cpus - first);
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    }

    fn program(&mut self, name: &str, ops: &[String]) {
        let ops = ops.join(", ");
        self.line(&format!("\n[[program]]\nname = \"{name}\"\nops = [{ops}]"));
    }

    /// A program that does these steps, which are a transaction, again and again.
    fn transactions(&mut self, name: &str, ops: &[String]) {
        let begin = ["\"begin\"".to_owned()];
        let end = ["\"done\"".to_owned(), "{repeat = {to = 0}}".to_owned()];
        self.program(name, &[&begin, ops, &end].concat());
    }

    fn resource(&mut self, kind: &str, name: &str, more: &str) {
        self.line(&format!("\n[[{kind}]]\nname = \"{name}\"{more}"));
    }

    /// Tasks of a program, so many for each instance; `fair` if they stay in the fair class.
    fn tasks(&mut self, program: &str, per_instance: u64, fair: bool) {
        self.line(&format!("\n[[task]]\nname = \"{program}\"\nprogram = \"{program}\"\nper_instance = {per_instance}"));
        self.tasks.push(program.to_owned());
        match self.random.below(8) {
            0 => self.line("policy = \"idle\""),
            1 if !fair && self.allowed.fair => {
                let (policy, priority) = (*self.random.of(&["fifo", "rr"]), 1 + self.random.below(99));
                self.line(&format!("policy = \"{policy}\"\npriority = {priority}"));
            }
            2 | 3 => {
                let nice = self.random.below(40) as i64 - 20;
                self.line(&format!("nice = {nice}"));
            }
            4 => {
                let slice = *self.random.of(&["100us", "1ms", "20ms"]);
                self.line(&format!("slice = \"{slice}\""));
            }
            _ => {}
        }
        if self.one_in(4) {
            let cpus = self.some_cpus();
            self.line(&format!("cpus = \"{cpus}\""));
        }
        self.joins_group();
        if self.one_in(5) {
            let process = self.random.below(2);
            self.line(&format!("process = \"p{process}\"\nfootprint_kib = 4096"));
        }
        if self.allowed.fair && self.one_in(8) {
            let max = 1 + self.random.below(1024);
            let min = self.random.below(max);
            self.line(&format!("uclamp_min = {min}\nuclamp_max = {max}"));
        }
        if self.one_in(5) {
            self.line("start = \"700us\"");
        }
    }

    fn joins_group(&mut self) {
        if self.groups != 0 && self.one_in(2) {
            let group = 1 + self.random.below(self.groups);
            self.line(&format!("group = \"g{group}\""));
        }
    }

    fn group(&mut self, number: u64) {
        self.line(&format!("\n[[group]]\nname = \"g{number}\""));
        if number > 1 && self.one_in(2) {
            let parent = 1 + self.random.below(number - 1);
            self.line(&format!("parent = \"g{parent}\""));
        }
        match self.random.below(6) {
            0 if self.allowed.bursts => self.line("idle = true"),
            1..4 => {
                let weight = *self.random.of(&[1, 20, 100, 300, 10_000]);
                self.line(&format!("weight = {weight}"));
            }
            _ => {}
        }
        if self.one_in(2) {
            let max = *self.random.of(&["1ms 4ms", "2ms 10ms", "20ms", "30ms 10ms", "1ms 1s"]);
            self.line(&format!("max = \"{max}\""));
            if self.allowed.bursts && self.one_in(3) {
                self.line("burst = \"1ms\"");
            }
        }
        if self.allowed.fair && self.one_in(6) {
            self.line("uclamp_min = 100\nuclamp_max = 700");
        }
        if self.one_in(6) {
            let cpus = self.some_cpus();
            self.line(&format!("cpus = \"{cpus}\""));
        }
    }

    fn pattern(&mut self, number: u64) {
        let patterns = if self.allowed.fair { 15 } else { 11 };
        match self.random.below(patterns) {
            0 => self.computes(number),
            1 => self.sleeps(number),
            2 => self.talks(number),
            3 => self.sends_one_way(number),
            4 => self.locks(number),
            5 => self.spins(number),
            6 => self.meets(number),
            7 => self.takes_turns(number),
            8 => self.waits_for_signals(number),
            9 => self.forks(number),
            10 => self.queues_work(number),
            11 => self.has_periods(number),
            12 => self.has_phases(number),
            13 => self.changes_itself(number),
            _ => self.executes(number),
        }
    }

    fn computes(&mut self, number: u64) {
        let (name, run) = (format!("hog{number}"), self.run());
        self.transactions(&name, &[run]);
        self.tasks(&name, 1, false);
    }

    fn sleeps(&mut self, number: u64) {
        let name = format!("sleeper{number}");
        let (run, softirq) = (self.run(), self.time("softirq"));
        let sleep = match self.one_in(3) {
            true => self.time("io"),
            false => self.time("sleep"),
        };
        self.transactions(&name, &[run, softirq, sleep]);
        self.tasks(&name, 2, false);
    }

    fn channel(&mut self, name: &str) {
        let capacity = self.random.of(&[1, 2, 8]);
        let costs = *self.random.of(&["", "\nown_lines = 3\nmessage_lines = 100\nwaited = \"1us\""]);
        let more = format!("\ncapacity = {capacity}{costs}");
        self.resource("channel", name, &more);
    }

    fn send(&mut self, channel: &str) -> String {
        format!("{{send = \"{channel}\", sync = {}}}", self.random.of(&["true", "false"]))
    }

    fn talks(&mut self, number: u64) {
        let [ask, answer, client, server] = ["ask", "answer", "client", "server"].map(|name| format!("{name}{number}"));
        self.channel(&ask);
        self.channel(&answer);
        let (run, send) = (self.run(), self.send(&answer));
        self.program(&server, &[format!("{{recv = \"{ask}\"}}"), run, send, "{repeat = {to = 0}}".to_owned()]);
        let (run, send) = (self.run(), self.send(&ask));
        self.transactions(&client, &[run, send, format!("{{recv = \"{answer}\"}}")]);
        self.tasks(&server, 1, false);
        self.tasks(&client, 1, false);
    }

    fn sends_one_way(&mut self, number: u64) {
        let [pipe, producer, consumer] = ["pipe", "producer", "consumer"].map(|name| format!("{name}{number}"));
        let more = "\ncapacity = 8".to_owned();
        self.resource("channel", &pipe, &more);
        let (run, send) = (self.run(), self.send(&pipe));
        self.transactions(&producer, &[run, send]);
        let recv = format!("{{recv = \"{pipe}\", room = {}, all = true}}", 1 + self.random.below(4));
        let run = self.run();
        self.program(&consumer, &[recv, run, "{repeat = {to = 0}}".to_owned()]);
        self.tasks(&producer, 2, false);
        self.tasks(&consumer, 1, false);
    }

    fn locks(&mut self, number: u64) {
        let (name, mutex) = (format!("locker{number}"), format!("mutex{number}"));
        self.resource("mutex", &mutex, "\nper_instance = false");
        let (held, free) = (self.run(), self.time("sleep"));
        self.transactions(&name, &[format!("{{lock = \"{mutex}\"}}"), held, format!("{{unlock = \"{mutex}\"}}"), free]);
        self.tasks(&name, 3, false);
    }

    fn spins(&mut self, number: u64) {
        let (name, lock) = (format!("spinner{number}"), format!("spinlock{number}"));
        self.resource("spinlock", &lock, "\nper_instance = false");
        let run = self.run();
        self.transactions(&name, &[run, format!("{{spin = \"{lock}\", hold = \"300ns\", jitter = 20}}")]);
        self.tasks(&name, 3, false);
    }

    fn meets(&mut self, number: u64) {
        let (name, barrier) = (format!("meeting{number}"), format!("barrier{number}"));
        let tasks = 2 + self.random.below(3);
        self.resource("barrier", &barrier, &format!("\nparticipants = {tasks}"));
        let run = self.run();
        self.transactions(&name, &[run, format!("{{barrier = \"{barrier}\"}}")]);
        self.tasks(&name, tasks, false);
    }

    fn takes_turns(&mut self, number: u64) {
        let (name, semaphore) = (format!("turn{number}"), format!("semaphore{number}"));
        self.resource("semaphore", &semaphore, "\ncount = 2\nper_instance = false");
        let run = self.run();
        self.transactions(&name, &[format!("{{down = \"{semaphore}\"}}"), run, format!("{{up = \"{semaphore}\"}}")]);
        self.tasks(&name, 4, false);
    }

    fn waits_for_signals(&mut self, number: u64) {
        let [mutex, condition, waiter, caller] =
            ["m", "condition", "waiter", "caller"].map(|name| format!("{name}{number}"));
        self.resource("mutex", &mutex, "");
        self.resource("condition", &condition, "");
        let (lock, unlock) = (format!("{{lock = \"{mutex}\"}}"), format!("{{unlock = \"{mutex}\"}}"));
        let wait = format!("{{cond_wait = \"{condition}\", mutex = \"{mutex}\"}}");
        let run = self.run();
        self.program(&waiter, &[lock.clone(), wait, unlock.clone(), run, "{repeat = {to = 0}}".to_owned()]);
        let wake = *self.random.of(&["signal", "broadcast"]);
        let timer = "{timer = \"t\", period = \"1ms\", mode = \"absolute\"}".to_owned();
        self.transactions(&caller, &[timer, lock, format!("{{{wake} = \"{condition}\"}}"), unlock]);
        self.tasks(&waiter, 3, false);
        self.tasks(&caller, 1, false);
    }

    fn forks(&mut self, number: u64) {
        let (parent, child) = (format!("parent{number}"), format!("child{number}"));
        let (run, sleep) = (self.run(), self.time("sleep"));
        self.program(&child, &[run.clone(), "\"exit\"".to_owned()]);
        let fork = format!("{{fork = \"{child}\"}}");
        self.transactions(&parent, &[run, fork.clone(), fork, "\"wait\"".to_owned(), sleep]);
        self.tasks(&parent, 1, false);
    }

    fn queues_work(&mut self, number: u64) {
        let [queue, item, name] = ["queue", "item", "queuer"].map(|name| format!("{name}{number}"));
        let items = 1 + self.random.below(3);
        self.resource("workqueue", &queue, &format!("\nitems = {items}"));
        let (work, run, sleep) = (self.run(), self.run(), self.time("sleep"));
        self.program(&item, &[work]);
        self.transactions(&name, &[run, format!("{{queue_work = \"{item}\", workqueue = \"{queue}\"}}"), sleep]);
        self.tasks(&name, 2, false);
    }

    /// Realtime tasks of every policy, and fair ones, that work by periods.
    fn has_periods(&mut self, number: u64) {
        let name = format!("periodic{number}");
        let (period, mode) = (*self.random.of(&["1ms", "5ms", "16ms"]), *self.random.of(&["absolute", "relative"]));
        let timer = format!("{{timer = \"t\", period = \"{period}\", mode = \"{mode}\"}}");
        let run = self.run();
        self.transactions(&name, &[run, timer]);
        if self.one_in(2) {
            return self.tasks(&name, 2, false);
        }
        self.line(&format!("\n[[task]]\nname = \"{name}\"\nprogram = \"{name}\"\npolicy = \"deadline\""));
        let (runtime, deadline) = (*self.random.of(&["100us", "500us", "2ms"]), *self.random.of(&["4ms", "8ms"]));
        self.line(&format!("runtime = \"{runtime}\"\ndeadline = \"{deadline}\"\nperiod = \"10ms\""));
        self.joins_group();
    }

    fn phase(&mut self) -> String {
        self.phases += 1;
        let name = format!("phase{}", self.phases);
        let set =
            *self.random.of(&["", "\nnice = 5", "\nuclamp_min = 100", "\npolicy = \"idle\"", "\nslice = \"1ms\""]);
        let (run, sleep) = (self.run(), self.time("sleep"));
        self.line(&format!("\n[[phase]]\nname = \"{name}\"{set}\nops = [{run}, {sleep}]"));
        name
    }

    fn has_phases(&mut self, number: u64) {
        let name = format!("phases{number}");
        let (first, second) = (self.phase(), self.phase());
        let times = 1 + self.random.below(3);
        let run = self.run();
        self.transactions(
            &name,
            &[
                format!("{{phase = \"{first}\", times = {times}}}"),
                format!("{{loop = [{run}, \"yield\"], times = {times}}}"),
                format!("{{phase = \"{second}\", times = 1}}"),
            ],
        );
        self.tasks(&name, 2, true);
    }

    /// Tasks that change how they are scheduled.
    fn changes_itself(&mut self, number: u64) {
        let name = format!("changer{number}");
        let realtime = match self.random.below(3) {
            0 => "{policy = \"deadline\", runtime = \"200us\", period = \"20ms\"}".to_owned(),
            _ => format!("{{policy = \"{}\", priority = 7}}", self.random.of(&["fifo", "rr"])),
        };
        let (above, fair, sleep) = (self.run(), self.run(), self.time("sleep"));
        let nice = self.random.below(20);
        self.transactions(
            &name,
            &[
                realtime,
                above,
                "{policy = \"normal\"}".to_owned(),
                format!("{{nice = {nice}}}"),
                fair.clone(),
                "{slice = \"500us\"}".to_owned(),
                fair,
                sleep,
            ],
        );
        self.line(&format!("\n[[task]]\nname = \"{name}\"\nprogram = \"{name}\"\nper_instance = 2"));
        self.joins_group();
    }

    fn executes(&mut self, number: u64) {
        let name = format!("execs{number}");
        let (before, after, sleep) = (self.run(), self.run(), self.time("sleep"));
        self.transactions(&name, &[before, "\"exec\"".to_owned(), after, sleep]);
        self.tasks(&name, 2, false);
    }

    fn interrupt(&mut self) {
        let (rate, cpus) = (*self.random.of(&[100, 1_000, 5_000]), self.some_cpus());
        let softirq = *self.random.of(&["", "\nsoftirq = \"12us\""]);
        self.line("\n[[interrupt]]\nname = \"nic\"\ntime = \"3us\"\njitter = 50");
        self.line(&format!("cpus = \"{cpus}\"\nper_second = {rate}{softirq}"));
    }

    fn changes(&mut self) {
        if self.cpus > 2 {
            let (cpu, at) = (1 + self.random.below(self.cpus - 1), self.random.below(20));
            self.line(&format!("\n[[change]]\nat = \"{at}ms\"\noffline = \"{cpu}\""));
            let back = at + 1 + self.random.below(20);
            self.line(&format!("\n[[change]]\nat = \"{back}ms\"\nonline = \"{cpu}\""));
        }
        if self.groups == 0 {
            return;
        }
        let group = 1 + self.random.below(self.groups);
        let set = *self.random.of(&["weight = 50", "idle = true", "max = \"2ms 10ms\"", "max = \"max\""]);
        self.line(&format!("\n[[change]]\nat = \"6ms\"\ngroup = \"g{group}\"\n{set}"));
        if let Some(task) = self.tasks.first().cloned() {
            let _ = writeln!(self.text, "\n[[change]]\nat = \"9ms\"\ntask = \"{task}\"\ngroup = \"g{group}\"");
        }
    }
}
