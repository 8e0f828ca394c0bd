//! How comparisons are printed.

mod csv;
mod fixture;
mod json;
mod lkml;
mod table;
mod trust;
mod verdict;
