//! A digest of what happens: two runs with the same digest are taken for the same.

use crate::sim::{Event, Sink};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Hashes the text of every event with its time. The number is for comparing within one build of the standard library.
#[derive(Debug, Default)]
pub struct Digest {
    text: String,
    hash: DefaultHasher,
    events: u64,
}

impl Digest {
    /// The digest so far, and of how many events it is.
    pub fn finish(&self) -> (u64, u64) {
        (self.hash.finish(), self.events)
    }
}

impl Sink for Digest {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.text.clear();
        write!(self.text, "{time} {event:?}").expect("a string takes all");
        self.text.hash(&mut self.hash);
        self.events += 1;
    }
}
