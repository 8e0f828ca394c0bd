//! Limits on the cost of reading and linking an object.
//!
//! Parts of a file can lie on the same bytes, types can hold each other, and names can be repeated: a small object can
//! ask for more than any machine has. Whatever is read more than once, or kept, is charged before.

use crate::error::LoadError;
use std::cell::Cell;

/// The limit on the cost of parsing and linking an object: about as many bytes that are kept, or nanoseconds. The
/// largest schedulers take a twentieth of it.
pub(crate) const LOAD_BUDGET: u64 = 64 << 20;

/// The rest of it; `None` once more was requested than there was.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<Option<u64>>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Budget { left: Cell::new(Some(LOAD_BUDGET)) }
    }

    /// Takes what something costs. `what` names it in the error, and belongs after "its".
    pub(crate) fn charge(&self, cost: u64, what: &str) -> Result<(), LoadError> {
        self.left.set(self.left.get().and_then(|left| left.checked_sub(cost)));
        if self.left.get().is_some() {
            return Ok(());
        }
        let most = LOAD_BUDGET >> 20;
        let text =
            format!("its {what} exceed the limit for an object: {most} MiB, or as many million steps to read them");
        Err(LoadError::new(text))
    }

    /// Whether something could be charged; once it could not, nothing more can.
    pub(crate) fn can(&self, cost: u64) -> bool {
        self.charge(cost, "").is_ok()
    }
}
