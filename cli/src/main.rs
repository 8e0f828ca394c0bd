//! wakelab
fn main() {}
