//! What a run is told apart by.

use std::fmt::{self, Debug, Write};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use wakelab_kernel::Feature;
use wakelab_sched::select::policy;
use wakelab_sim::Setup;

/// The hash of all inputs of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a run of `setup` by `program`, measured from `settle_ns` on.
    pub fn new(program: Program, setup: &Setup<'_>, settle_ns: u64) -> Self {
        // Named one by one: an input that is added does not compile until it is part of the key.
        let Setup { machine, kernel, features, workload, seed, until, mechanisms, observer_cost, pm } = *setup;
        let mut inputs = Inputs(blake3::Hasher::new());
        inputs.0.update(program.bytes());
        inputs.add(machine);
        inputs.add(kernel);
        inputs.add(&features);
        inputs.add(workload);
        inputs.add(&(seed, settle_ns, until, observer_cost));
        inputs.add(&mechanisms);
        // A program's own policy may have data, which the program's bytes do not tell.
        if features.has(Feature::OWN) {
            inputs.add(&policy::registered().map(|own| (own.feature(), own)));
        }
        inputs.add(&pm);
        Key(inputs.0.finalize())
    }

    /// The key of the same run with regret counted beside: its numbers have more.
    pub fn with_regret(self) -> Self {
        Key(blake3::Hasher::new().update(self.bytes()).update(b"regret").finalize())
    }

    /// In hexadecimal.
    pub(super) fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Takes in the debug text of inputs. It is derived: it has every field, new ones too, and quotes strings, so that no two
/// values have one text. How it looks depends on the compiler alone, and so on the program, which is part of the key.
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

/// The identity of a program: what another build of other sources does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program([u8; blake3::OUT_LEN]);

impl Program {
    /// The program that is running: the hash of its executable, in which all of its code is linked.
    ///
    /// A version or a commit would be the same before and after a change that is not committed; the bytes are not. A build
    /// of the same sources gives the same bytes, so that what was kept is found again.
    ///
    /// # Errors
    /// Where the executable cannot be read.
    pub fn running() -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(executable()?)?)?;
        Ok(Program(*hasher.finalize().as_bytes()))
    }

    /// A program of another identity for each `name`: a stand-in, where no executable is to be asked.
    pub fn named(name: &str) -> Self {
        Program(*blake3::hash(name.as_bytes()).as_bytes())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Linux leads to the file that runs even where a build has put another in its place since.
fn executable() -> io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}
