//! The key of a run, and the identity of the program that runs it.

use std::fmt::{self, Debug, Write};
use std::io;
use std::path::{Path, PathBuf};
use wakelab_input::files;
use wakelab_kernel::Feature;
use wakelab_sched::select::policy;
use wakelab_sim::Setup;

/// The hash of all inputs of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl Key {
    /// Returns the key of a run of `setup` by `program` that is measured from `settle_ns` on.
    pub fn new(program: Program, setup: &Setup<'_>, settle_ns: u64) -> Self {
        // Each field is named, so that a new input does not compile until it is part of the key.
        let Setup { machine, kernel, features, workload, seed, until, mechanisms, observer_cost, pm, scheduler } =
            *setup;
        let mut inputs = Inputs(blake3::Hasher::new());
        inputs.0.update(program.bytes());
        inputs.add(machine);
        inputs.add(kernel);
        inputs.add(&features);
        inputs.add(workload);
        inputs.add(&(seed, settle_ns, until, observer_cost));
        inputs.add(&mechanisms);
        // A policy that the program brings may have data, which the hash of the program does not cover.
        if features.has(Feature::OWN) {
            inputs.add(&policy::registered().map(|own| (own.feature(), own)));
        }
        inputs.add(&pm);
        inputs.add(&scheduler.map(|scheduler| (scheduler.name(), scheduler.identity())));
        Key(inputs.0.finalize())
    }

    /// Returns the key of the same run with regret, whose results have more numbers.
    pub fn with_regret(self) -> Self {
        Key(blake3::Hasher::new().update(self.bytes()).update(b"regret").finalize())
    }

    /// Returns a key that depends only on `name`, for tests of what is stored.
    pub fn named(name: &str) -> Self {
        Key(blake3::hash(name.as_bytes()))
    }

    /// Returns the key in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Hashes the debug text of inputs. The text is derived: it has every field, also new ones, and quotes strings, so that
/// no two values have the same text. Its format depends only on the compiler and thus on the program, which is part of
/// the key.
struct Inputs(blake3::Hasher);

impl Inputs {
    fn add(&mut self, input: &dyn Debug) {
        writeln!(self, "{input:?}").expect("a hasher takes all");
    }
}

impl Write for Inputs {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// The identity of a program, which differs between builds of different sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program([u8; blake3::OUT_LEN]);

impl Program {
    /// Returns the identity of the running program: the hash of its executable, in which all of its code is linked.
    ///
    /// A version or a commit would be the same before and after a change that is not committed; the executable is not.
    /// A build of the same sources gives the same executable, so that earlier results are found again.
    ///
    /// # Errors
    /// Fails if the executable cannot be read.
    pub fn running() -> io::Result<Self> {
        Self::of(&executable()?)
    }

    /// Returns the identity of a program whose code is in `file`, such as a library that an interpreter has loaded.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn of(file: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(files::open_file(file)?)?;
        Ok(Program(*hasher.finalize().as_bytes()))
    }

    /// Returns an identity that depends only on `name`, for tests that need several programs.
    pub fn named(name: &str) -> Self {
        Program(*blake3::hash(name.as_bytes()).as_bytes())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// On Linux, /proc/self/exe is the running file even if a build has replaced it since.
fn executable() -> io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}
