//! For `fuzz/soak`: `random_scheduler NUMBER FOLDER` writes the scheduler of that number to FOLDER/random.bpf.c, and
//! the flags of its run, one a line, to FOLDER/flags.

use std::path::Path;
use std::process::ExitCode;
use wakelab_testing::random_scheduler::random_scheduler;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [number, folder] = &words[..] else { return usage() };
    let Ok(number) = number.parse() else { return usage() };
    let made = random_scheduler(number);
    let folder = Path::new(folder);
    let written = std::fs::write(folder.join("random.bpf.c"), made.source)
        .and_then(|()| std::fs::write(folder.join("flags"), made.flags.join("\n") + "\n"));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("random_scheduler: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: random_scheduler NUMBER FOLDER  (a number from 0)");
    ExitCode::from(2)
}
