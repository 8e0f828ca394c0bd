//! For `fuzz/soak`: `random_experiment NUMBER` prints the experiment of that number as TOML.

#[path = "../../fuzz/random_experiment.rs"]
mod random_experiment;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).and_then(|number| number.parse().ok()) {
        Some(number) => {
            print!("{}", random_experiment::text(number));
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("usage: random_experiment NUMBER  (a number from 0)");
            ExitCode::from(2)
        }
    }
}
