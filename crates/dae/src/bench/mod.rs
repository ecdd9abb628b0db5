//! The commands that measure on this machine, or between two hosts that were started by hand.
//!
//! | module | what it holds |
//! |---|---|
//! | `allreduce` | the command `bench-allreduce`: how fast gradients are summed |
//! | `compute` | the command `bench-compute`: how long a gradient takes, and the optimizer |
mod allreduce;
mod compute;

pub(crate) use allreduce::allreduce;
pub(crate) use compute::compute;
