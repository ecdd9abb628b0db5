//! What a join's children lie around: who waits for whom, and how the centre moves. Pure: no threads, no clocks.
//!
//! | module | what it holds |
//! |---|---|
//! | `ledger` | [`Ledger`]: who may begin, which update fires when, who is late; [`Arrival`] in, [`Order`] out, [`Taken`] for the log |
//! | `shard` | [`Shard`]: a slice of the centre's parameters with its outer optimizer, and the update that moves it |
//! | `contribution` | [`Contribution`]: what a child hands a shard, and what lateness costs it |
//! | `residual` | [`Residual`]: what a lossy wire has not brought to the centre yet |
//! | `turns` | [`Turns`]: when the fragments of a join are due |
//! | `tally` | [`Tally`]: how stale contributions were, and how long children waited |
//!
//! What an update is, is written in `dae_schedule::oracle`, and the arithmetic is the same here, to the bit. An update
//! is a function of the contributions it has, whatever the order they came in; which it has, the ledger decides, from
//! the order of arrivals alone. So all shards that follow one ledger move alike.
mod contribution;
mod ledger;
mod residual;
mod shard;
mod tally;
mod turns;

pub use contribution::{Contribution, Motion};
pub use ledger::{Arrival, Ledger, Order, Taken};
pub use residual::Residual;
pub use shard::{Shard, cut};
pub use tally::{ChildTally, Tally};
pub use turns::{Turn, Turns};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
