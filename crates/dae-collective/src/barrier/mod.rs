//! A barrier that breaks instead of hanging.
//!
//! | module | what it holds |
//! |---|---|
//! | `wait` | [`Barrier`]: waiting until all have come, or somebody has given up |
//! | `broken` | [`Broken`]: why it will not open any more |
//! | `sync` | what it is made of |
mod broken;
mod sync;
#[cfg(test)]
mod tests;
mod wait;

pub use broken::Broken;
pub use wait::Barrier;
