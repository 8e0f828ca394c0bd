//! The command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use wakelab_kernel::Switches;
use wakelab_sched::select::Reason;

/// Where Linux puts a waking task, and why.
///
/// Recordings are decisions of real kernels with everything that the decision read; `explain` and `conform` make each
/// decision again with wakelab's model of select_task_rq_fair().
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say of each recorded wake-up why the kernel chose its CPU.
    Explain(Explain),
    /// Compare the model's choices with the kernel's.
    ///
    /// Exits with 1 where a decision differs, with 2 where a file cannot be read. Rows whose state changed while the
    /// kernel decided are not compared.
    Conform(Conform),
    /// Show the kernels that are known: features, tunables, forms of the code, with their sources.
    Kernel {
        /// What to show.
        #[command(subcommand)]
        command: Kernel,
    },
}

/// `wakelab explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// Recordings (.csv, .csv.gz) or folders of them, each with the topo-*.json of its machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the share of each reason, by kernel, load and flags, in place of the explanations.
    #[arg(long, conflicts_with_all = ["row", "pid", "reason", "limit"])]
    pub summary: bool,
    /// Explain only the row with this number (its `seq`).
    #[arg(long, value_name = "N")]
    pub row: Option<u64>,
    /// Explain only wake-ups of or by this task.
    #[arg(long, value_name = "P")]
    pub pid: Option<i64>,
    /// Explain only decisions with this reason.
    #[arg(long, value_name = "REASON", value_parser = reasons())]
    pub reason: Option<Reason>,
    /// Stop after this many explanations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Explain what the kernel would have chosen with these features switched (A,NO_B as in its features file).
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// How to print: text, or JSON (an object for each row and line; one object for --summary).
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    pub format: TextFormat,
}

/// `wakelab conform`.
#[derive(Debug, ClapArgs)]
pub struct Conform {
    /// Recordings (.csv, .csv.gz) or folders of them, each with the topo-*.json of its machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Ask what these features (A,NO_B as in the kernel's features file) would have chosen on the same states.
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// How many of the rows that differ are explained.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Count instead how many decisions are lost when each rule and input of the model is made wrong in turn.
    #[arg(long, conflicts_with = "with")]
    pub ablate: bool,
    /// How to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// `wakelab kernel`.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// List all of them.
    List {
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show one, or what differs between two.
    Show {
        /// The kernel (v6.12).
        name: String,
        /// Show only what differs in this kernel.
        #[arg(long, value_name = "OTHER")]
        diff: Option<String>,
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
}

/// Text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Sentences.
    Text,
    /// JSON.
    Json,
}

/// A table or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A table.
    Table,
    /// JSON.
    Json,
}

/// The reasons by name, so that help and errors list them.
fn reasons() -> impl TypedValueParser<Value = Reason> {
    PossibleValuesParser::new(Reason::ALL.map(Reason::name))
        .map(|name| Reason::from_name(&name).expect("only names of reasons are let through"))
}
