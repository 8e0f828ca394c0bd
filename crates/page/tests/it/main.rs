//! The tests of the page, in one program.

mod names;
mod page;
