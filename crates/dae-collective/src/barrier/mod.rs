//! A barrier that breaks instead of hanging.
//!
//! | module | what it holds |
//! |---|---|
//! | `wait` | [`Barrier`]: waiting until all have come, or somebody has given up |
//! | `broken` | [`Broken`]: why it will not open any more |
//! | `sync` | what it is made of |
//! | `model` | the same barrier made of shuttle's parts, in the orders of events that a scheduler thinks up |
mod broken;
#[cfg(test)]
mod model;
mod sync;
#[cfg(test)]
mod tests;
mod wait;

pub use broken::Broken;
pub use wait::Barrier;
