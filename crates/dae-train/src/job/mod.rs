//! A training run on this machine: puts the actors together, trains, and says how it ended.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | [`Job`]: prepared, then trained |
//! | `assemble` | from a plan to the parts of a run |
//! | `origin` | where its parameters come from: the seed, its checkpoint, another run |
//! | `handle` | [`JobHandle`]: what its other actors hold of it |
//! | `report` | [`Report`]: how it ended |
//! | `error` | [`JobError`]: why it could not |
mod assemble;
mod error;
mod handle;
mod origin;
mod report;
mod run;

pub use assemble::{corruption, feeder};
pub use error::JobError;
pub use handle::JobHandle;
pub use report::Report;
pub use run::Job;
