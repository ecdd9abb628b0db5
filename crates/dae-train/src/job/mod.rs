//! A training run, on this machine or as one node of several: puts the actors together, trains, and says how it ended.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | [`Job`]: prepared, then trained |
//! | `assemble` | from a plan to the parts of a run |
//! | `start` | the actors of one group of workers |
//! | `join` | a join or a gossip about to begin |
//! | `gossip` | what the peers of a gossip begin with |
//! | `join_start` | the actors of a join or a gossip |
//! | `across` | [`Across`]: a run's nodes, as one of them sees them; [`Connect`]: links for actors to them |
//! | `facts` | [`Facts`]: what all nodes of a run must have in common |
//! | `origin` | where its parameters come from: the seed, its checkpoint, another run |
//! | `handle` | [`JobHandle`]: what its other actors hold of it |
//! | `report` | [`Report`]: how it ended |
//! | `error` | [`JobError`]: why it could not |
mod across;
mod assemble;
mod error;
mod facts;
mod gossip;
mod handle;
mod join;
mod join_start;
mod origin;
mod report;
mod run;
mod start;

pub use across::{Across, Connect};
pub use assemble::{corruption, feeder};
pub use error::JobError;
pub use facts::{Facts, Standing};
pub use handle::JobHandle;
pub use report::Report;
pub use run::Job;
