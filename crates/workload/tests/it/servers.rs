//! The models of benchmarks with clients and servers: uperf, sysbench, oracle, ycsb, stress-ng; and dbench and stream.

use std::collections::BTreeMap;
use wakelab_workload::{Call, Load, Op, Program, ShortestRun, Workload, build, shortest_run};

fn at(name: &str, n: u32, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    build(name, Load::Instances(n), 112, &options).unwrap()
}

fn program<'a>(workload: &'a Workload, name: &str) -> &'a Program {
    workload.programs.iter().find(|program| program.name == name).unwrap()
}

fn count(workload: &Workload, name: &str, is: impl Fn(&Op) -> bool) -> usize {
    program(workload, name).ops.iter().filter(|op| is(op)).count()
}

fn work(workload: &Workload, name: &str) -> u64 {
    let run = |op: &Op| if let Op::Run(work) = op { work.ns } else { 0 };
    program(workload, name).ops.iter().map(run).sum()
}

const SERVERS: [(&str, &str, &str); 6] = [
    ("uperf:pingpong", "slave", "master"),
    ("sysbench:oltp_read_write", "mysqld", "client"),
    ("sysbench:oltp_read_only", "mysqld", "client"),
    ("oracle:oltp", "shadow", "user"),
    ("ycsb:mongodb", "mongod", "ycsb"),
    ("tbench:loopback", "server", "client"),
];

#[test]
fn a_server_answers_each_request_and_all_clients_go_at_one_moment() {
    for (name, server, client) in SERVERS {
        let workload = at(name, 2, &[]);
        let messages = |of: &str| count(&workload, of, |op| matches!(op, Op::Send { sync: true, .. }));
        let receives = |of: &str| count(&workload, of, |op| matches!(op, Op::Recv { .. }));
        assert_eq!(messages(server), receives(client), "{name}");
        assert_eq!(messages(client), receives(server), "{name}");
        assert_eq!(messages(client), messages(server), "{name}");
        let pair = &workload.tasks[..2];
        assert_eq!(pair[0].channels, pair[1].channels, "{name}");
        let barrier = |op: &Op| matches!(op.call(), Some(Call::Barrier { .. }));
        assert_eq!((count(&workload, client, barrier), count(&workload, server, barrier)), (1, 0), "{name}");
        // The last is who forks the clients, or beside a task that forks the servers, sleeps until they are there.
        let main = workload.tasks.iter().rfind(|task| task.name != "tbench_srv").unwrap();
        let ops = &program(&workload, &main.name).ops;
        let sleeps = usize::from(name == "tbench:loopback");
        assert_eq!(ops.len(), sleeps + 1, "{name}: {}", main.name);
        assert!(ops[..sleeps].iter().all(|op| matches!(op, Op::Sleep(_))), "{name}: {}", main.name);
        assert!(ops[sleeps..].iter().all(barrier), "{name}: {}", main.name);
    }
}

#[test]
fn uperf_copies_its_message_on_both_sides_each_way() {
    let work = |size| {
        let workload = at("uperf:pingpong", 1, &[("size", size), ("copy", 1000)]);
        ["slave", "master"].map(|name| work(&workload, name))
    };
    let ([slave, master], [slave_of_none, master_of_none]) = (work(8192), work(0));
    assert_eq!((slave - slave_of_none, master - master_of_none), (2 * 8192, 2 * 8192));
}

#[test]
fn a_transaction_of_sysbench_has_the_statements_of_its_script() {
    let statements = |name| count(&at(name, 1, &[]), "mysqld", |op| matches!(op, Op::Recv { .. }));
    assert_eq!([statements("sysbench:oltp_read_write"), statements("sysbench:oltp_read_only")], [20, 16]);
    let locks = |name| count(&at(name, 1, &[]), "mysqld", |op| matches!(op.call(), Some(Call::Lock { .. })));
    assert_eq!([locks("sysbench:oltp_read_write"), locks("sysbench:oltp_read_only")], [1, 0]);
    assert_eq!(count(&at("sysbench:oltp_read_write", 1, &[]), "client", |op| *op == Op::Done), 1);
}

#[test]
fn a_client_of_sysbench_makes_what_the_posting_has_for_one_of_eight() {
    let workload = at("sysbench:oltp_read_write", 1, &[]);
    let sleep = |op: &Op| if let Op::Call(Call::Io(work)) = op { work.ns } else { 0 };
    let slept: u64 = program(&workload, "mysqld").ops.iter().map(sleep).sum();
    let busy = (work(&workload, "mysqld") + work(&workload, "client") + slept) as f64;
    // 2095.45 of 8 threads; what is missing is 40 wake-ups of a few us.
    let missing = 8e9 / 2095.45 - busy;
    assert!((40.0 * 1_000.0..40.0 * 12_000.0).contains(&missing), "{missing}");
}

#[test]
fn commits_of_all_users_wait_for_one_log_writer() {
    let workload = at("oracle:oltp", 3, &[]);
    let names: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names[6..], ["log writer", "driver"]);
    let list = |task: usize| workload.tasks[task].channels[3];
    assert!([0, 2, 4, 6].iter().all(|&task| workload.channels[list(task) as usize].name == "log"));
    assert_eq!(count(&workload, "shadow", |op| matches!(op.call(), Some(Call::Ask { list: 3 }))), 1);
    assert_eq!(count(&workload, "log writer", |op| matches!(op.call(), Some(Call::Serve { list: 3, .. }))), 1);
    assert_eq!(workload.load, "3 users");
}

#[test]
fn a_process_of_ycsb_has_its_threads_and_as_many_connections() {
    let workload = at("ycsb:mongodb", 1, &[("threads", 5)]);
    assert_eq!(workload.tasks.len(), 11);
    assert_eq!(count(&workload, "ycsb", |op| *op == Op::Done), 2);
}

#[test]
fn a_server_of_stress_ng_streams_512_messages_for_one_connect() {
    let workload = at("stress-ng:sock", 2, &[]);
    let messages = |name: &str| -> u32 {
        let times = |op: &Op| if let Op::Repeat { times: Some(times), .. } = *op { times } else { 0 };
        program(&workload, name).ops.iter().map(times).sum()
    };
    assert_eq!([messages("server"), messages("client")], [512, 512]);
    let room = |op: &Op| match op.call() {
        Some(Call::RecvBatch { room, all, .. }) => Some((room, all)),
        _ => None,
    };
    assert_eq!(program(&workload, "client").ops.iter().find_map(room), Some((11, true)));
    let reply = &workload.channels[workload.tasks[0].channels[1] as usize];
    assert_eq!((reply.name.as_str(), reply.capacity), ("reply 0", 32));
    assert_eq!(workload.tasks.len(), 4);
}

/// Lines 601 to 4173 of dbench's client.txt: so many requests, of which these take an allocation group's header.
#[test]
fn a_client_of_dbench_replays_the_load_file() {
    let workload = at("dbench:fileio", 5, &[]);
    let calls = |name: &str, is: fn(Call) -> bool| count(&workload, name, |op| op.call().is_some_and(is));
    for client in 0..4 {
        let name = format!("client {client}");
        assert_eq!(times_done(program(&workload, &name)), 3573);
        assert_eq!(calls(&name, |call| matches!(call, Call::Down { .. })), 124 + 124 + 43);
        assert_eq!(calls(&name, |call| matches!(call, Call::QueueWork { .. })), 124);
        assert_eq!(calls(&name, |call| matches!(call, Call::Io(_))), 43);
    }
    // The fifth client begins in the group of the first.
    let programs: Vec<u32> = workload.tasks.iter().map(|task| task.program).collect();
    assert_eq!(programs, [0, 1, 2, 3, 0, 4]);
    let work = |copy| all_work(program(&at("dbench:fileio", 1, &[("copy", copy)]), "client 0"));
    let copied = work(1000) - work(0);
    // Each stretch of the load file has one size of reads, and one of writes, rounded down.
    assert!((19_000_000..19_119_736 + 1).contains(&copied), "{copied} of 19119736 bytes");
}

/// By step that a program comes to, in order, up to the end of its first round; loops are not in loops.
fn round(program: &Program) -> Vec<Op> {
    let mut steps = Vec::new();
    for (at, op) in program.ops.iter().enumerate() {
        match *op {
            Op::Repeat { times: None, .. } => break,
            Op::Repeat { to, times: Some(times) } => {
                (1..times).for_each(|_| steps.extend_from_slice(&program.ops[to as usize..at]));
            }
            op => steps.push(op),
        }
    }
    steps
}

fn times_done(program: &Program) -> usize {
    round(program).iter().filter(|op| **op == Op::Done).count()
}

fn all_work(program: &Program) -> u64 {
    round(program).iter().map(|op| if let Op::Run(work) = op { work.ns } else { 0 }).sum()
}

#[test]
fn a_file_of_dbench_is_unlinked_in_the_group_that_it_was_made_in() {
    let workload = at("dbench:fileio", 4, &[]);
    let of = |program: usize, at: fn(Call) -> Option<u32>| -> Vec<u32> {
        workload.programs[program].ops.iter().filter_map(|op| at(op.call()?)).collect()
    };
    let inodes = |call| match call {
        // The AGI's semaphores have even numbers.
        Call::Down { semaphore } if semaphore % 2 == 0 => Some(semaphore),
        _ => None,
    };
    let mut groups = of(0, inodes);
    let other = of(1, inodes);
    groups.iter_mut().for_each(|group| *group = (*group - 2 + 2) % 8 + 2);
    assert_eq!(groups, other, "the next client's directories are one group on");
    for group in 0..4 {
        let frees = format!("inactivate {group}");
        let downs: Vec<_> = program(&workload, &frees).ops.iter().filter_map(|op| op.call()).collect();
        let (agi, agf) = (2 + 2 * group, 3 + 2 * group);
        let [down, up] = [|semaphore| Call::Down { semaphore }, |semaphore| Call::Up { semaphore }];
        // xfs_inactive(): first the extents, then the inode.
        assert_eq!(downs, [down(agf), up(agf), down(agi), up(agi)]);
    }
    // Before 5.14 who unlinks a file frees what it had.
    let before = at("dbench:fileio", 1, &[("inodegc", 0)]);
    assert_eq!(before.programs.len(), 2);
    assert_eq!(count(&before, "client 0", |op| matches!(op.call(), Some(Call::Down { .. }))), 3 * 124 + 43 + 124);
}

#[test]
fn a_load_file_of_dbench_is_one_transaction() {
    let workload = at("dbench:loadfile", 2, &[]);
    assert_eq!((workload.metric.as_str(), workload.unit.as_str()), ("frame_mean", "ms"));
    assert_eq!(count(&workload, "client 0", |op| *op == Op::Done), 1);
    let ops = &program(&workload, "client 0").ops;
    assert_eq!((ops[1], ops[ops.len() - 2..].to_vec()), (Op::Begin, vec![Op::Done, Op::Repeat { to: 1, times: None }]));
    let requests = at("dbench:fileio", 2, &[]);
    assert_eq!(all_work(program(&workload, "client 0")), all_work(program(&requests, "client 0")));
    // No groups are one, as one that is not given.
    assert_eq!(at("dbench:fileio", 2, &[("ags", 0)]).programs.len(), 3);
}

/// QPS are 16 × TPS in the posting of SIS_SHORT on Kunpeng.
#[test]
fn a_read_only_transaction_of_sysbench_is_sixteen_queries() {
    let client = at("sysbench:oltp_read_only", 1, &[]);
    assert_eq!(count(&client, "client", |op| matches!(op, Op::Send { .. })), 16);
    assert_eq!(count(&at("sysbench:oltp_read_write", 1, &[]), "client", |op| matches!(op, Op::Send { .. })), 20);
}

#[test]
fn threads_of_stream_meet_after_each_loop_and_one_counts_it() {
    let workload = at("stream:Triad", 4, &[]);
    assert_eq!(workload.channels[0].capacity, 4);
    let names: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["main", "thread 1", "thread 2", "thread 3"]);
    assert_eq!(
        (count(&workload, "main", |op| *op == Op::Done), count(&workload, "thread", |op| *op == Op::Done)),
        (1, 0)
    );
}

#[test]
fn a_benchmark_says_how_long_it_takes_and_what_nobody_knows_takes_any_time() {
    assert_eq!(shortest_run("tbench:loopback"), ShortestRun { settle_ns: 2_000_000_000, time_ns: 0 });
    assert_eq!(shortest_run("schbench:workers").time_ns, 10_000_000_000);
    assert!(shortest_run("sysbench:oltp_read_write").time_ns >= 100 * 4_000_000);
    for name in ["netperf:TCP_RR", "some.toml", "nothing"] {
        assert_eq!(shortest_run(name), ShortestRun::default(), "{name}");
    }
}
