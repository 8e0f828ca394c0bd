//! wakelab: where Linux puts a waking task, and why.

use std::process::ExitCode;

fn main() -> ExitCode {
    wakelab_cli::main()
}
