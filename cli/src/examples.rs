//! The examples that help ends with. Tests run each of them in a clone.

/// Of the program.
pub const ALL: &str = "\
Examples:
  wakelab run experiments/quickstart.toml                 what does a patch do?
  wakelab explain recordings/6.12-C-hb.csv.gz --row 23    why on that CPU?

`wakelab COMMAND -h` has an example for each; --help says more.";

/// Of the program, at length.
pub const ALL_LONG: &str = "\
Examples:
  wakelab run experiments/quickstart.toml                 what does a patch do?
  wakelab explain recordings/6.12-C-hb.csv.gz --row 23    why on that CPU?

Exit codes:
  0    all is well
  1    a choice differs (conform), or a simulated run failed
  2    bad input or arguments, or the output cannot be written; an error says which
  130  Ctrl-C; what was complete is printed

Results go to stdout, all else to stderr. Colours are for terminals only, and none with NO_COLOR. docs/terminal.md has the rules.";

/// Of `run`.
pub const RUN: &str = "\
Example:
  wakelab run experiments/quickstart.toml";

/// Of `compare`.
pub const COMPARE: &str = "\
Example:
  wakelab compare --machine test-8c --kernel v6.12 --workload netperf:TCP_RR \\
      --load 100% --base SIS_UTIL --with NO_SIS_UTIL --repeat 3";

/// How `compare` is used.
pub const COMPARE_USAGE: &str = "wakelab compare [OPTIONS] --machine <MACHINE> --kernel <KERNEL>
               --workload <WORKLOAD> --base <SWITCHES> --with <SWITCHES>";

/// Of `reproduce`.
pub const REPRODUCE: &str = "\
Example:
  wakelab reproduce sis_util-results --quick";

/// Of `stats`.
pub const STATS: &str = "\
Example:
  wakelab stats recordings/6.12-C-hb.csv.gz --by comm";

/// Of `explain`.
pub const EXPLAIN: &str = "\
Example:
  wakelab explain recordings/6.12-C-hb.csv.gz --reason limit --limit 1";

/// Of `conform`.
pub const CONFORM: &str = "\
Example:
  wakelab conform recordings/6.12-C-hb.csv.gz";

/// Of `replay`.
pub const REPLAY: &str = "\
Example:
  wakelab replay recordings/6.12-C-hb.csv.gz --with NO_SIS_UTIL";

/// Of `import`.
pub const IMPORT: &str = "\
Example:
  wakelab import trace.dat -o imported";

/// Of `trace`.
pub const TRACE: &str = "\
Example:
  wakelab trace recordings/6.12-C-hb.csv.gz --perfetto out.pftrace";

/// Of `kernel`.
pub const KERNEL: &str = "\
Example:
  wakelab kernel show v6.12 --diff v6.1";

/// Of `machine`.
pub const MACHINE: &str = "\
Example:
  wakelab machine show intel-1s56c112t";

/// Of `workload`.
pub const WORKLOAD: &str = "\
Example:
  wakelab workload show netperf:TCP_RR";

/// Of `completions`.
pub const COMPLETIONS: &str = "\
Example:
  wakelab completions bash >wakelab.bash";

/// Of `man`.
pub const MAN: &str = "\
Example:
  wakelab man .        and then: man -l wakelab.1";
