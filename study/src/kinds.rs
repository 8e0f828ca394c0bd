//! Whose decisions they were: a real kernel's or the simulator's.

use wakelab_events::Row;

/// What kinds of decisions were met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Those of a real kernel.
    pub recorded: bool,
    /// Those of the simulator.
    pub simulated: bool,
}

impl Kinds {
    /// Notes a row.
    pub(crate) fn add(&mut self, row: &Row) {
        self.simulated |= row.simulated;
        self.recorded |= !row.simulated;
    }

    /// Notes what another has met.
    pub(crate) fn merge(&mut self, other: Kinds) {
        self.simulated |= other.simulated;
        self.recorded |= other.recorded;
    }

    /// In JSON: `recorded`, `simulated`, or `both`; `None` where nothing was met.
    pub fn name(self) -> Option<&'static str> {
        match (self.recorded, self.simulated) {
            (true, true) => Some("both"),
            (true, false) => Some("recorded"),
            (false, true) => Some("simulated"),
            (false, false) => None,
        }
    }

    /// Who decided, in a sentence.
    pub fn who(self) -> &'static str {
        match (self.recorded, self.simulated) {
            (true, true) => "the kernel or the simulator",
            (false, true) => "the simulator",
            (_, false) => "the kernel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_said_where_both_were_met() {
        let mut row = Row::new();
        let mut kinds = Kinds::default();
        assert_eq!((kinds.name(), kinds.who()), (None, "the kernel"));
        row.simulated = true;
        kinds.add(&row);
        assert_eq!((kinds.name(), kinds.who()), (Some("simulated"), "the simulator"));
        row.simulated = false;
        kinds.add(&row);
        assert_eq!((kinds.name(), kinds.who()), (Some("both"), "the kernel or the simulator"));
    }
}
