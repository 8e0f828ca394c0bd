//! Chosen wake-ups, explained.

use crate::view::{Block, View};
use crate::{Error, Page};
use serde::Serialize;

/// A wake-up, and why it landed where it did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Explained {
    /// Which wake-up, such as its row or time.
    pub title: String,
    /// Why it was chosen, such as `the slowest of base`. May be empty.
    pub why: String,
    /// The text of `wakelab explain`, with its line breaks.
    pub text: String,
}

pub(crate) fn view(page: &Page) -> Result<Option<View>, Error> {
    if page.explained.is_empty() {
        return Ok(None);
    }
    let mut view = View::new("explained", "Wake-ups explained");
    for Explained { title, why, text } in &page.explained {
        view.blocks.push(Block::Lines { title: title.clone(), about: why.clone(), lines: text.clone() });
    }
    Ok(Some(view))
}
