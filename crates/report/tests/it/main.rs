//! The tests of the reports, in one program.

mod compare;
mod kernel_pages;
mod machine;
mod policies;
