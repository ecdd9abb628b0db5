//! The dae-node command line.
fn main() {}
