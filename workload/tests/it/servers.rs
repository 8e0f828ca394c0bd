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

#[test]
fn a_client_of_dbench_replays_tbenchs_mix_and_flushes_once_in_three_rounds() {
    let (files, network) = (at("dbench:fileio", 2, &[]), at("tbench:loopback", 2, &[]));
    let done = |workload| count(workload, "client", |op| *op == Op::Done);
    assert_eq!((done(&files), done(&network)), (29, 29));
    // 5 opens, an unlink and 2 writes.
    assert_eq!(count(&files, "client", |op| matches!(op.call(), Some(Call::Lock { .. }))), 8);
    let ops = &program(&files, "client").ops;
    let tail = &ops[ops.len() - 3..];
    assert_eq!((tail[0], tail[2]), (Op::Repeat { to: 1, times: Some(3) }, Op::Repeat { to: 1, times: None }));
    assert!(matches!(tail[1], Op::Call(Call::Io(_))));
    let copied = work(&at("dbench:fileio", 1, &[("copy", 1000), ("bytes", 8_000)]), "client")
        - work(&at("dbench:fileio", 1, &[("copy", 1000), ("bytes", 0)]), "client");
    assert_eq!(copied, 10 * 8_000);
}

#[test]
fn a_load_file_of_dbench_is_so_many_rounds_and_one_transaction() {
    let workload = at("dbench:loadfile", 2, &[("rounds", 10)]);
    assert_eq!((workload.metric.as_str(), workload.unit.as_str()), ("frame_mean", "ms"));
    assert_eq!(count(&workload, "client", |op| *op == Op::Done), 1);
    let ops = &program(&workload, "client").ops;
    // Three rounds to a flush, four times.
    let back = |to, times| Op::Repeat { to, times };
    let tail = &ops[ops.len() - 5..];
    assert_eq!((ops[1], tail[0], tail[2]), (Op::Begin, back(2, Some(3)), back(2, Some(4))));
    assert_eq!(tail[3..], [Op::Done, back(1, None)]);
    assert_eq!(work(&workload, "client"), work(&at("dbench:fileio", 2, &[]), "client"));
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
