//! The actors of a training run.
//!
//! | module | what it holds |
//! |---|---|
//! | `group` | [`Group`]: what all workers of a job share |
//! | `data_loader` | [`DataLoader`]: fills batches ahead of its worker, as many as it was given buffers for |
//! | `feed` | a worker's end of its loader |
//! | `gradient_worker` | [`GradientWorker`]: computes gradients and applies its slice of each step |
//! | `lease` | [`Lease`] of steps that a worker runs on its own, and how it ended |
//! | `all_reduce_coordinator` | [`AllReduceCoordinator`]: forms the group, ends it, forms it anew after a failure |
//! | `checkpointer` | [`Checkpointer`]: writes snapshots while training goes on |
//! | `recorder` | [`Recorder`]: the log of events, and who else wants to hear of committed steps |
//! | `committed` | [`Committed`] steps, as they are told |
//!
//! The hot path makes no hop: workers step by themselves, meeting at the arena's barrier. Messages form groups, feed
//! batches and tell what happened.
mod all_reduce_coordinator;
mod checkpointer;
mod committed;
mod data_loader;
mod feed;
mod gradient_worker;
mod group;
mod lease;
mod recorder;

pub use all_reduce_coordinator::{AllReduceCoordinator, End, Ended, Stop, Train};
pub use checkpointer::{Checkpointer, Save};
pub use committed::{Committed, StepRecord};
pub use data_loader::{DataLoader, Feed, Refill};
pub use gradient_worker::GradientWorker;
pub use group::{Group, Links, TakenUp};
pub use lease::{Lease, LeaseEnd, Pace};
pub use recorder::{Keep, Listen, Listener, Recorder, Sync};
