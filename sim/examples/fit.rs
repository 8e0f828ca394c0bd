//! scratch
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::*;
use wakelab_kernel::*;
use wakelab_machine::*;
use wakelab_sched::domain::*;
use wakelab_sim::*;
use wakelab_workload::{Channel, Op, Program, Task, Work, Workload};

struct M {
    settle: u64,
    s: [u64; 4],
    done: u64,
    wk: u64,
    claimed: u64,
    oncpu: u64,
    lat: Vec<u32>,
    win: Vec<(u32, u32)>,
    scan: Vec<(u64, u64, i32)>,
    mig: u64,
    reasons: [u64; 20],
    walk: [u64; 20],
    walkn: u64,
    core: u64,
    sw: [u64; 4],
    local: u64,
}
impl Sink for M {
    const ON: bool = true;
    fn event(&mut self, t: u64, e: &Event) {
        match *e {
            Event::Wakeup { decision, claimed, workload, queued, began, walk_began, .. } => {
                let w = (t / 10_000_000) as usize;
                if self.win.len() <= w {
                    self.win.resize(w + 1, (0, 0));
                }
                self.win[w].0 += 1;
                if let Some(d) = decision {
                    self.win[w].1 += d.count.failed;
                }
                if t < self.settle {
                    return;
                }
                if workload {
                    self.wk += 1;
                }
                if let Event::Wakeup { cpu, waker_cpu, .. } = *e {
                    if cpu == waker_cpu {
                        self.local += 1
                    }
                }
                if claimed {
                    self.claimed += 1
                }
                if queued == Queued::OnCpu {
                    self.oncpu += 1
                }
                if let Some(d) = decision {
                    let c = d.count;
                    self.s[0] += c.search as u64;
                    self.s[1] += c.domain_search as u64;
                    self.s[2] += c.scanned as u64;
                    self.s[3] += c.failed as u64;
                    self.reasons[d.reason as usize] += 1;
                }
                let _ = began;
                if let Some(w) = walk_began {
                    self.walkn += 1;
                    self.walk[((t - w).max(1).ilog2() as usize).min(19)] += 1;
                }
            }
            Event::Done { latency, .. } => {
                if t >= self.settle {
                    self.done += 1;
                    self.lat.push(latency as u32);
                }
            }
            Event::IdleScan { sum_util, weight, nr_idle_scan, .. } => {
                self.scan.push((t, sum_util * 1000 / (weight as u64 * 1024), nr_idle_scan))
            }
            Event::Switch { prev, prev_sleeps, next, .. } => {
                if t >= self.settle {
                    self.sw[(prev.is_some() as usize) * 2 + prev_sleeps as usize] += 1;
                    let _ = next;
                }
            }
            Event::Migrate { .. } => {
                if t >= self.settle {
                    self.mig += 1
                }
            }
            _ => {}
        }
    }
}

fn cost(v: u64) -> Cost {
    Cost { value: v, low: v, high: v, origin: Origin::Assumed(String::new()) }
}

fn main() {
    let mut args: std::collections::BTreeMap<String, String> = Default::default();
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        args.insert(k.into(), v.into());
    }
    let get = |k: &str, d: u64| -> u64 { args.get(k).map_or(d, |v| v.parse().unwrap()) };
    let costs = Costs::try_from_fn(|name, _| {
        Ok::<_, ()>(cost(get(
            name,
            match name {
                "context_switch" => 550,
                "wakeup" => 250,
                "probe" => 70,
                "enqueue_local" => 250,
                "enqueue_remote" => 2200,
                "enqueue_far" => 3000,
                "enqueue_visible" => 70,
                "wakelist" => 300,
                "wakelist_flush" => 400,
                "ipi" => 300,
                "ipi_far" => 500,
                "idle_exit" => 900,
                "idle_entry" => 450,
                "cold_task" => 2500,
                "cold_task_far" => 5000,
                "cold_message" => 600,
                "cold_message_far" => 1200,
                "tick" => 1000,
                "balance" => 1000,
                "balance_cpu" => 60,
                "newidle_max_smt" => 30000,
                "newidle_max_llc" => 130000,
                "smt_slowdown" => 155,
                _ => panic!(),
            },
        )))
    })
    .unwrap();
    let topology = Uniform { numbering: Numbering::Split, ..Uniform::new(56, 2) }.topology();
    let machine = Machine {
        name: "m".into(),
        description: String::new(),
        topology,
        caches: vec![],
        costs,
        noise: Noise { kworker_period_ns: get("nperiod", 20_000_000), kworker_run_ns: get("nrun", 5000) },
    };
    let (send, softirq, recv, jit) =
        (get("send", 1900), get("softirq", 800), get("recv", 1000), get("jitter", 20) as u32);
    let w = |ns| Work { ns, jitter_pct: jit };
    let only: Option<&String> = args.get("only");
    let loads: Vec<u64> = args
        .get("n")
        .map_or(vec![28, 56, 84, 112, 140, 168, 196, 224], |v| v.split(',').map(|x| x.parse().unwrap()).collect());
    let ramp = get("ramp", 100_000_000);
    let time = get("time", 400) * 1_000_000;
    let settle = get("settle", 600) * 1_000_000;
    for n in loads {
        let client = Program {
            name: "netperf".into(),
            ops: vec![
                Op::Run(w(get("setup", 1))),
                Op::Sleep(Work { ns: get("sleep", 1), jitter_pct: 50 }),
                Op::Begin,
                Op::Run(w(send)),
                Op::Softirq(w(softirq)),
                Op::Send { channel: 0, sync: true },
                Op::Recv { channel: 1 },
                Op::Run(w(recv)),
                Op::Done,
                Op::Repeat { to: 2, times: None },
            ],
        };
        let server = Program {
            name: "netserver".into(),
            ops: vec![
                Op::Run(w(get("setup", 1))),
                Op::Sleep(Work { ns: get("sleep", 1), jitter_pct: 50 }),
                Op::Recv { channel: 0 },
                Op::Run(w(recv)),
                Op::Run(w(send)),
                Op::Softirq(w(softirq)),
                Op::Send { channel: 1, sync: true },
                Op::Repeat { to: 2, times: None },
            ],
        };
        let mut channels = vec![];
        let mut tasks = vec![];
        for i in 0..n as u32 {
            channels.push(Channel { name: format!("q{i}"), capacity: 8 });
            channels.push(Channel { name: format!("r{i}"), capacity: 8 });
            for p in [1u32, 0] {
                tasks.push(Task {
                    name: format!("t{i}.{p}"),
                    program: p,
                    channels: vec![2 * i, 2 * i + 1],
                    start_ns: i as u64 * ramp / n,
                    nice: 0,
                    idle_policy: false,
                    affinity: None,
                });
            }
        }
        let workload = Workload {
            benchmark: "netperf".into(),
            case: "TCP_RR".into(),
            load: format!("{n} threads"),
            metric: String::new(),
            unit: String::new(),
            higher_is_better: true,
            programs: vec![client, server],
            channels,
            tasks,
            params: vec![],
        };
        for side in args.get("sides").map_or(vec!["SIS_PROP", "SIS_UTIL"], |s| s.split(":").collect::<Vec<_>>()) {
            if only.is_some_and(|o| o != side) {
                continue;
            }
            let kernel = Preset::get("v5.19-rc1").unwrap();
            let features = side.parse::<Switches>().unwrap().on(kernel.features);
            let mut mech = Mechanisms::default();
            if let Some(x) = args.get("without") {
                mech = Mechanisms::without(x).unwrap();
            }
            for seed in 1..=get("seeds", 1) {
                let setup = Setup {
                    machine: &machine,
                    kernel,
                    features,
                    workload: &workload,
                    seed: seed + get("seed0", 0),
                    until: settle + time,
                    mechanisms: mech,
                    observer_cost: 0,
                };
                let mut m = M {
                    settle,
                    s: [0; 4],
                    done: 0,
                    wk: 0,
                    claimed: 0,
                    oncpu: 0,
                    lat: vec![],
                    win: vec![],
                    scan: vec![],
                    mig: 0,
                    reasons: [0; 20],
                    walk: [0; 20],
                    walkn: 0,
                    core: 0,
                    sw: [0; 4],
                    local: 0,
                };
                let _ = m.core;
                let t0 = std::time::Instant::now();
                let out = run(&setup, &mut m, &AtomicBool::new(false)).unwrap();
                let el = t0.elapsed().as_secs_f64();
                m.lat.sort();
                let p = |q: f64| m.lat.get((m.lat.len() as f64 * q) as usize).copied().unwrap_or(0);
                let [s, d, c, f] = m.s.map(|x| x as f64);
                let tot: u64 = out.cpus.iter().map(|c| c.work + c.overhead + c.idle).sum();
                let idle: u64 = out.cpus.iter().map(|c| c.idle).sum();
                let flip = m.win.iter().position(|w| w.1 * 2 > w.0 && w.0 > 100);
                let utils: Vec<String> = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.99]
                    .iter()
                    .map(|q| {
                        let x = m.scan.get((m.scan.len() as f64 * q) as usize).copied().unwrap_or_default();
                        format!("{}:{}", x.1, x.2)
                    })
                    .collect();
                println!(
                    "{n:4} {side} thr {:8.0} fast {:7.3} dom {:6.3} se {:7.3} succ {:7.3} sc/d {:5.1} us/wk {:5.2} p50 {:5.1} p99 {:6.1} claimed {:4.1}% oncpu {:4.1}% idle {:4.1}% flip {:?} util {} | {:.2}M wk/s {:.1} ev/wk",
                    m.done as f64 / (time as f64 / 1e9),
                    100. * (s - d) / s,
                    100. * (d - f) / (c - (s - d)),
                    100. * (s - f) / c,
                    100. * (s - f) / s,
                    c / d,
                    112. * time as f64 / 1000. / m.wk as f64,
                    p(0.5) as f64 / 1e3,
                    p(0.99) as f64 / 1e3,
                    100. * m.claimed as f64 / m.wk as f64,
                    100. * m.oncpu as f64 / m.wk as f64,
                    100. * idle as f64 / tot as f64,
                    flip.map(|x| x * 10),
                    utils.join(" "),
                    out.wakeups as f64 / el / 1e6,
                    out.events as f64 / out.wakeups as f64
                );
                if args.contains_key("v") {
                    println!(
                        "    reasons {:?} walk {:?} switches idle/x/preempt/sleep {:?} local {} of {} mig {}",
                        m.reasons, m.walk, m.sw, m.local, m.wk, m.mig
                    );
                }
            }
        }
    }
}
