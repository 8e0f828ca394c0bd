//! Which program makes the runs.

use std::fs::File;
use std::io;
use std::path::PathBuf;

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
