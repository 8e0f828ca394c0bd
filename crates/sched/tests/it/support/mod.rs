//! What several of the tests share.

pub mod ablation;
pub mod balance;
pub mod energy;
pub mod random;
pub mod runqueue;
pub mod searched;
pub mod vectors;
