//! For `fuzz/soak`: `random_experiment NUMBER DIR` writes the experiment of that number to `DIR/experiment.toml`, and
//! the workload that it may need beside it. Its paths of schedulers begin at the working folder, the root of the
//! repository.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};
use wakelab_testing::random_experiment::{self, WORKLOAD_FILE};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let number = arguments.next().and_then(|number| number.parse().ok());
    let (Some(number), Some(folder), None) = (number, arguments.next(), arguments.next()) else {
        eprintln!("usage: random_experiment NUMBER DIR  (a number from 0, and a folder that exists)");
        return ExitCode::from(2);
    };
    match write(number, Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("random_experiment: {folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(number: u64, folder: &Path) -> io::Result<()> {
    let root = env::current_dir()?;
    let files = random_experiment::files(number, &root.to_string_lossy());
    fs::write(folder.join("experiment.toml"), files.experiment)?;
    files.workload.map_or(Ok(()), |workload| fs::write(folder.join(WORKLOAD_FILE), workload))
}
