//! Tests of statistics.

mod difference;
mod means;
