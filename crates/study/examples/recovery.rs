//! How like its original a captured run is: `recovery MACHINE KERNEL WORKLOAD LOAD SETTLE_MS TIME_MS [SWITCHES…]`.
//!
//! The original is simulated with events and captured, and the capture is simulated on the same machine. Each of the
//! switches is then asked of both.

use wakelab_study::compare::Block;
use wakelab_study::runners::Simulator;
use wakelab_testing::recovery::{self, class, made, original, recover, show};

/// How often a comparison is repeated.
const REPEATS: u32 = 5;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [machine, kernel, workload, load, settle, time, switches @ ..] = &args[..] else {
        panic!("expected MACHINE KERNEL WORKLOAD LOAD SETTLE_MS TIME_MS [SWITCHES…]");
    };
    let ms = [settle, time].map(|ms| ms.parse().expect("a number of ms"));
    let of = |with: &str| original(machine, kernel, workload, load, ["", with], ms);
    let found = recover(&of(""));
    if let Some(path) = std::env::var_os("CAPTURED") {
        std::fs::write(path, &found.captured.toml).expect("it is written");
    }
    print!("{}", show(&format!("{workload} {load}"), &found));
    for with in switches {
        let of = Block { repeats: REPEATS, ..of(with) };
        for (name, experiment) in [("original", of.clone()), ("captured", recovery::again(&found.captured, &of))] {
            let row = &made(&experiment, &Simulator).rows[0];
            println!("{with} {name}: {} {:+.1}% p {:.3?} {:?}", row.metric, row.compare_pct, row.p_value, class(row));
        }
    }
}
