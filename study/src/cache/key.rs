//! What a run is told apart by.

use super::Program;
use std::fmt::{self, Debug, Write};
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
