//! Schedulers of sched_ext made by chance, as C that clang compiles for BPF, with what each is run on. Most are wrong
//! in some way: what counts is that a run of one ends in numbers or in a message.

use crate::splitmix64::Random;
use std::fmt::Write;

/// What schedulers take of the kernel; `random_scheduler` puts it before each.
pub const HEADER: &str = include_str!("../../scx-bpf/tests/data/own.h");

/// A scheduler and a run of it.
pub struct RandomScheduler {
    /// Its source, with all that it includes.
    pub source: String,
    /// The flags of `wakelab compare`, but for the sides.
    pub flags: Vec<String>,
}

/// An operation: its member of `struct sched_ext_ops`, what it returns, which argument is a task (none if it has no
/// such), and which is a CPU.
struct Operation(&'static str, &'static str, Option<u32>, Option<u32>);

const OPERATIONS: &[Operation] = &[
    Operation("enqueue", "void", Some(0), None),
    Operation("dispatch", "void", None, Some(0)),
    Operation("select_cpu", "s32", Some(0), Some(1)),
    Operation("dequeue", "void", Some(0), None),
    Operation("tick", "void", Some(0), None),
    Operation("runnable", "void", Some(0), None),
    Operation("running", "void", Some(0), None),
    Operation("stopping", "void", Some(0), None),
    Operation("quiescent", "void", Some(0), None),
    Operation("yield", "_Bool", Some(0), None),
    Operation("set_weight", "void", Some(0), None),
    Operation("set_cpumask", "void", Some(0), None),
    Operation("update_idle", "void", None, Some(0)),
    Operation("cpu_acquire", "void", None, Some(0)),
    Operation("cpu_release", "void", None, Some(0)),
    Operation("init_task", "s32", Some(0), None),
    Operation("exit_task", "void", Some(0), None),
    Operation("enable", "void", Some(0), None),
    Operation("disable", "void", Some(0), None),
    Operation("cpu_online", "void", None, Some(0)),
    Operation("cpu_offline", "void", None, Some(0)),
];

/// What all of them have: a clock of chance, queues 1 to 3, and timers that do what is drawn for them.
const COMMON: &str = "
static u32 drawn = 1;
static u32 draw(void)
{
	drawn = drawn * 1664525 + 1013904223;
	return drawn >> 9;
}

u64 nr_calls;

struct timer {
	u64 opaque[2];
};

struct {
	__uint(type, 2);
	__type(key, u32);
	__type(value, struct timer);
	__uint(max_entries, 4);
} timers SEC(\".maps\");

static int fires(void *map, u32 *key, struct timer *timer);

static void starts(u32 which, u64 nsecs)
{
	struct timer *timer = bpf_map_lookup_elem(&timers, &which);

	if (!timer)
		return;
	bpf_timer_init(timer, &timers, 1);
	bpf_timer_set_callback(timer, fires);
	bpf_timer_start(timer, nsecs, 0);
}

static void cancels(u32 which)
{
	struct timer *timer = bpf_map_lookup_elem(&timers, &which);

	if (timer)
		bpf_timer_cancel(timer);
}
";

/// The scheduler of this number: the same for each number, whatever built it.
pub fn random_scheduler(number: u64) -> RandomScheduler {
    let mut random = Random(number ^ 0x5c4e_d000_0000_0000);
    let (machine, cpus) =
        random.of(&[("test-1c", 1), ("test-2c", 2), ("test-8c", 8), ("test-2llc", 8), ("test-2s", 8)]);
    let kernel = *random.of(&["v6.12", "v6.18", "v7.2"]);
    let (workload, load) = *random.of(&[
        ("netperf:TCP_RR", "100%"),
        ("netperf:TCP_RR", "300%"),
        ("hackbench:process-pipe", "1"),
        ("hackbench:thread-sockets", "1"),
        ("schbench:normal", "1"),
        ("perf-bench:sched-messaging", "1"),
        ("will-it-scale:context_switch1-pinned", "100%"),
        ("stress-ng:sock", "200%"),
        ("kernbench:make", "100%"),
    ]);
    let mut all: Vec<&Operation> = OPERATIONS.iter().take(2).collect();
    for _ in 0..random.below(8) {
        let more = random.of(OPERATIONS);
        if all.iter().all(|known| known.0 != more.0) {
            all.push(more);
        }
    }
    let mut source = format!("{HEADER}\n#define NR_CPUS {cpus}\n{COMMON}\n");
    source += "static int fires(void *map, u32 *key, struct timer *timer)\n{\n\tnr_calls++;\n";
    for _ in 0..random.below(3) {
        let statement = in_timer(&mut random);
        let _ = writeln!(source, "\t{statement}");
    }
    source += "\treturn 0;\n}\n";
    for operation in &all {
        source += &body(&mut random, operation);
    }
    source += "\nOP(init) s32 op_init(u64 *ctx)\n{\n\tfor (u64 queue = 1; queue <= 3; queue++)\n";
    source += "\t\tscx_bpf_create_dsq(queue, -1);\n\treturn 0;\n}\n\n";
    source += "SEC(\".struct_ops.link\") struct sched_ext_ops random_ops = {\n";
    for Operation(name, ..) in all {
        let _ = writeln!(source, "\t.{name} = (void *)op_{name},");
    }
    let flags = random.of(&["0", "0", "0", "1 << 0", "1 << 1", "1 << 2", "1 << 1 | 1 << 2"]);
    let _ = write!(source, "\t.init = (void *)op_init,\n\t.flags = {flags},\n\t.timeout_ms = 1000,\n");
    source += "\t.name = \"random\",\n};\n";
    let seed = (1 + random.below(1000)).to_string();
    let flags = ["--machine", machine, "--kernel", kernel, "--workload", workload, "--load", load, "--seed", &seed];
    let rest = ["--settle", "0ms", "--time", "60ms", "--repeat", "1"];
    RandomScheduler { source, flags: flags.iter().chain(&rest).map(|&word| word.to_owned()).collect() }
}

/// A program: some statements of chance, and in most what the operation is for.
fn body(random: &mut Random, operation: &Operation) -> String {
    let Operation(name, returns, task, cpu) = operation;
    let mut text = format!("\nOP({name}) {returns} op_{name}(u64 *ctx)\n{{\n");
    let task = task.map(|at| format!("(void *)ctx[{at}]"));
    let cpu = cpu.map_or_else(|| "draw() % NR_CPUS".to_owned(), |at| format!("ctx[{at}]"));
    text += "\tnr_calls++;\n";
    let mut sound = random.below(20) != 0;
    for _ in 0..random.below(4) {
        let statement = statement(random, name, task.as_deref(), &cpu, 0);
        // A task that is inserted twice ends the scheduler.
        sound &= *name != "enqueue" || !statement.contains("insert");
        let _ = writeln!(text, "\t{statement}");
    }
    // Most do what they are there for, so that a run comes further than its first wake-up.
    match *name {
        "enqueue" if sound => {
            let (queue, slice) = (queue(random), slice(random));
            let _ = writeln!(text, "\tinsert((void *)ctx[0], {queue}, {slice}, ctx[1]);");
        }
        "dispatch" if sound => {
            text += "\tfor (u64 queue = 1; queue <= 3; queue++)\n\t\tif (move_to_local(queue))\n";
            text += "\t\t\tbreak;\n";
        }
        _ => {}
    }
    let value = match *name {
        "select_cpu" => *random.of(&["ctx[1]", "draw() % NR_CPUS", "ctx[1]"]),
        "yield" => *random.of(&["0", "1"]),
        "init_task" => *random.of(&["0", "0", "0", "-1"]),
        _ => "",
    };
    if !value.is_empty() {
        let _ = writeln!(text, "\treturn {value};");
    }
    text + "}\n"
}

fn queue(random: &mut Random) -> &'static str {
    random.of::<&str>(&["SCX_DSQ_GLOBAL", "SCX_DSQ_LOCAL", "1", "2", "3", "SCX_DSQ_LOCAL_ON | (draw() % NR_CPUS)"])
}

fn slice(random: &mut Random) -> &'static str {
    random.of::<&str>(&["SCX_SLICE_DFL", "SCX_SLICE_DFL", "1000000", "1000", "1", "0", "-1ULL"])
}

fn nsecs(random: &mut Random) -> &'static str {
    random.of::<&str>(&["0", "1", "1000", "100000", "1000000", "-1ULL", "1ULL << 62"])
}

fn kick(random: &mut Random, cpu: &str) -> String {
    let cpu = *random.of(&[cpu, "draw() % NR_CPUS", "(draw() + 1) % NR_CPUS", "0"]);
    let flags =
        random.of(&["0", "SCX_KICK_IDLE", "SCX_KICK_PREEMPT", "SCX_KICK_WAIT", "SCX_KICK_PREEMPT | SCX_KICK_WAIT"]);
    format!("scx_bpf_kick_cpu({cpu}, {flags});")
}

fn in_timer(random: &mut Random) -> String {
    match random.below(3) {
        0 => format!("bpf_timer_start(timer, {}, 0);", nsecs(random)),
        1 => kick(random, "0"),
        _ => format!("if (nr_calls % {} == 0) bpf_timer_start(timer, 1000, 0);", 2 + random.below(5)),
    }
}

/// A statement that the operation may have by the kernel's rules, or, rarely, may not.
fn statement(random: &mut Random, of: &str, task: Option<&str>, cpu: &str, depth: u32) -> String {
    match (random.below(12), task) {
        (0..=2, _) => kick(random, cpu),
        (3, _) if depth < 2 => {
            let inner = statement(random, of, task, cpu, depth + 1);
            format!("if (nr_calls % {} == 0) {{ {inner} }}", 2 + random.below(30))
        }
        (4, _) => format!("starts({}, {});", random.below(4), nsecs(random)),
        (5, _) => format!("cancels({});", random.below(4)),
        (6, _) => format!("scx_bpf_test_and_clear_cpu_idle({cpu});"),
        (7, _) => format!("scx_bpf_cpuperf_set({cpu}, {});", random.of(&["0", "512", "1024"])),
        (8, Some(task)) if matches!(of, "enqueue" | "select_cpu") => {
            format!("insert({task}, {}, {}, 0);", queue(random), slice(random))
        }
        (9, Some(task)) if matches!(of, "enqueue" | "select_cpu") => {
            let (queue, slice) = (1 + random.below(3), slice(random));
            format!("insert_vtime({task}, {queue}, {slice}, draw(), 0);")
        }
        (8 | 9, _) if of == "dispatch" => format!("move_to_local({});", 1 + random.below(3)),
        (10, Some(task)) if of == "select_cpu" => {
            format!("{{ _Bool is_idle; scx_bpf_select_cpu_dfl({task}, ctx[1], ctx[2], &is_idle); }}")
        }
        (10, _) if of == "dispatch" => {
            random.of(&["scx_bpf_dispatch_nr_slots();", "scx_bpf_dsq_nr_queued(1);"]).to_string()
        }
        (10, _) if of == "cpu_release" => "scx_bpf_reenqueue_local();".to_owned(),
        (11, _) => format!("for (u32 at = 0; at < {}; at++) nr_calls++;", random.of(&["10", "1000", "100000"])),
        _ => format!("scx_bpf_dsq_nr_queued({});", queue(random)),
    }
}
