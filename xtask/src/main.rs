//! The developer's one door.
fn main() {}
