//! A captured workload as our TOML: docs/workloads.md has the format.

use super::groups::Group;
use super::program::{Amount, CapturedOp, CapturedProgram, without_idle_steps};
use super::task_groups::Control;
use super::timeline::{TaskNr, Timelines, family};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use wakelab_input::{cpulist_text, toml_text as quoted};

/// How many messages wait in a mailbox at most: more than any task sends, so that no sender waits.
const MAILBOX: u32 = 1_000_000;

/// The time in which instances start one after another, as scripts start them. How they did is not in a recording that
/// begins later, and of runs with about as many tasks as CPUs it decides whether tasks that wake each other come to
/// share CPUs. netperf's model assumes as much.
const RAMP: &str = "60ms";

/// The file's text, with the lines of `about` as its first comment.
pub(super) fn to_toml(lines: &Timelines, groups: &[Group], control: &Control, about: &[String]) -> String {
    let names = names(lines, groups);
    let mut file = File { lines, control, names, distributions: Vec::new(), named: FxHashMap::default(), group: 0 };
    let mut text = String::new();
    about.iter().for_each(|line| _ = writeln!(text, "# {line}"));
    let unit = if lines.transactions > 0 { "trans/s" } else { "rounds/s" };
    let label = if groups.iter().any(|group| group.instances > 1) { "groups" } else { "copies" };
    let _ = write!(
        text,
        "\n[workload]\nbenchmark = \"captured\"\ncase = {}\nmetric = \"throughput\"\nunit = \"{unit}\"\n\
         better = \"higher\"\nload_label = \"{label}\"\n",
        quoted(&leading_family(lines, groups)),
    );
    if groups.iter().any(|group| group.instances > 1) {
        let _ = writeln!(text, "ramp = \"{RAMP}\"");
    }
    text += &control.to_toml();
    let mut programs = String::new();
    let mut tasks = String::new();
    for (number, group) in groups.iter().enumerate() {
        file.group = number;
        let shared = if group.per_instance() { "" } else { "per_instance = false\n" };
        if group.programs.values().any(CapturedProgram::ends_rounds) {
            let _ = write!(text, "\n[[barrier]]\nname = {}\n{shared}", quoted(&format!("rounds {number}")));
        }
        let (mailboxes, forked) = (group.with_mailbox(), group.forked());
        for (&task, program) in &group.programs {
            if mailboxes.contains(&task) {
                let _ = write!(text, "\n[[channel]]\nname = {}\ncapacity = {MAILBOX}\n{shared}", file.mailbox(task));
            }
            file.program(&mut programs, task, program, group.mailbox(task));
            if !forked.contains(&task) {
                file.task(&mut tasks, task, group.per_instance());
            }
        }
    }
    text + &file.distributions.concat() + &programs + &tasks
}

struct File<'a> {
    lines: &'a Timelines,
    control: &'a Control,
    names: FxHashMap<TaskNr, String>,
    distributions: Vec<String>,
    /// The names of the distributions, by their values.
    named: FxHashMap<Vec<u64>, String>,
    /// The number of the group that is written.
    group: usize,
}

impl File<'_> {
    fn name(&self, task: TaskNr) -> &str {
        self.names.get(&task).map_or("", |name| name)
    }

    fn mailbox(&self, task: TaskNr) -> String {
        quoted(&format!("to {}", self.name(task)))
    }

    fn program(&mut self, text: &mut String, task: TaskNr, program: &CapturedProgram, mailbox: TaskNr) {
        let _ = writeln!(text, "\n[[program]]\nname = {}\nops = [", quoted(self.name(task)));
        let [first, for_ever] = [&program.first, &program.for_ever].map(|ops| without_idle_steps(ops));
        for op in first.iter().chain(&for_ever) {
            let op = self.op(task, op, mailbox);
            let _ = writeln!(text, "  {op},");
        }
        if !for_ever.is_empty() {
            let _ = writeln!(text, "  {{repeat = {{to = {}}}}},", first.len());
        }
        let _ = writeln!(text, "]");
    }

    fn op(&mut self, task: TaskNr, op: &CapturedOp, mailbox: TaskNr) -> String {
        match op {
            CapturedOp::Run(amount) => format!("{{run = {}}}", self.amount(task, amount)),
            CapturedOp::Softirq => "{softirq = \"0ns\"}".to_owned(),
            CapturedOp::Send { to, sync: true } => format!("{{send = {}, sync = true}}", self.mailbox(*to)),
            CapturedOp::Send { to, sync: false } => format!("{{send = {}}}", self.mailbox(*to)),
            CapturedOp::Receive => format!("{{recv = {}}}", self.mailbox(mailbox)),
            CapturedOp::Sleep(amount) => format!("{{sleep = {}}}", self.amount(task, amount)),
            CapturedOp::SleepUntil(ns) => format!("{{sleep_until = \"{ns}ns\"}}"),
            CapturedOp::Timer(ns) => format!("{{timer = \"period\", period = \"{ns}ns\"}}"),
            CapturedOp::Fork(child) => format!("{{fork = {}}}", quoted(self.name(*child))),
            CapturedOp::WaitForChildren => "\"wait\"".to_owned(),
            CapturedOp::Exec => "\"exec\"".to_owned(),
            CapturedOp::EndOfRound => format!("{{barrier = {}}}", quoted(&format!("rounds {}", self.group))),
            CapturedOp::Begin => "\"begin\"".to_owned(),
            CapturedOp::Done => "\"done\"".to_owned(),
        }
    }

    fn amount(&mut self, task: TaskNr, amount: &Amount) -> String {
        match amount {
            Amount::Ns(ns) => format!("\"{ns}ns\""),
            Amount::OneOf(values) => {
                let number = self.distributions.len() + 1;
                let name = match self.named.get(values) {
                    Some(name) => name,
                    None => {
                        let name = quoted(&format!("{} {number}", self.name(task)));
                        let numbers: Vec<String> = values.iter().map(u64::to_string).collect();
                        let numbers = numbers.join(", ");
                        self.distributions.push(format!("\n[[distribution]]\nname = {name}\nns = [{numbers}]\n"));
                        self.named.entry(values.clone()).or_insert(name)
                    }
                };
                format!("{{from = {name}}}")
            }
        }
    }

    fn task(&self, text: &mut String, task: TaskNr, per_instance: bool) {
        let line = &self.lines.tasks[task as usize];
        let name = quoted(self.name(task));
        let _ = write!(text, "\n[[task]]\nname = {name}\nprogram = {name}\n");
        if !per_instance {
            let _ = writeln!(text, "count = 1");
        }
        if let (Some(began), None) = (line.began_ns, line.parent) {
            let _ = writeln!(text, "start = \"{}ns\"", began.saturating_sub(self.lines.from_ns));
        }
        if line.attributes.nice != 0 {
            let _ = writeln!(text, "nice = {}", line.attributes.nice);
        }
        if line.is_idle_policy() {
            let _ = writeln!(text, "policy = \"idle\"");
        }
        if let Some(group) = self.control.name_of(line) {
            let _ = writeln!(text, "group = {group}");
        }
        if let Some(cpus) = self.control.restricted(line, self.lines.busy_ns.len()) {
            let _ = writeln!(text, "cpus = {}", quoted(&cpulist_text(cpus)));
        }
    }
}

/// A name for each task: its own where no other task has it, or else with its pid.
fn names(lines: &Timelines, groups: &[Group]) -> FxHashMap<TaskNr, String> {
    let mut count: FxHashMap<&str, u32> = FxHashMap::default();
    let tasks = || groups.iter().flat_map(|group| group.programs.keys().copied());
    for task in tasks() {
        *count.entry(&lines.tasks[task as usize].comm).or_default() += 1;
    }
    let name = |task: TaskNr| {
        let line = &lines.tasks[task as usize];
        let comm = if line.comm.is_empty() { "task" } else { &line.comm };
        let own = count[&*line.comm] == 1 && !line.comm.is_empty();
        (task, if own { comm.to_owned() } else { format!("{comm} {}", line.pid) })
    };
    tasks().map(name).collect()
}

/// The family of names that has the most steps.
fn leading_family(lines: &Timelines, groups: &[Group]) -> String {
    let mut steps: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for task in groups.iter().flat_map(|group| group.programs.keys()) {
        let line = &lines.tasks[*task as usize];
        *steps.entry(family(&line.comm)).or_default() += line.steps.len();
    }
    let most = steps.into_iter().max_by_key(|&(_, count)| count).map(|(family, _)| family);
    most.filter(|family| !family.is_empty()).unwrap_or("tasks").to_owned()
}
