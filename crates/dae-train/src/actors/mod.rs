//! The actors of a training run.
//!
//! | module | what it holds |
//! |---|---|
//! | `group` | [`Group`]: what all workers of a job share |
//! | `data_loader` | [`DataLoader`]: fills batches ahead of its worker, as many as it was given buffers for |
//! | `feed` | a worker's end of its loader |
//! | `gradient_worker` | [`GradientWorker`]: computes gradients and applies its slice of each step |
//! | `close` | how a step is closed: what every rank does to its slice |
//! | `lease` | [`Lease`] of steps that a worker runs on its own, and how it ended |
//! | `all_reduce_coordinator` | [`AllReduceCoordinator`]: forms the group, ends it, forms it anew after a failure |
//! | `alive` | [`Alive`]: whether an actor on another node still answers |
//! | `bulk` | numbers as raw bytes beside a message |
//! | `stall` | when a step takes so long that somebody should be told, and what |
//! | `child` | [`Child`]: a group's place in a join or a gossip |
//! | `child_state` | [`ChildState`]: what a child has come to besides its parameters |
//! | `outpost` | [`Outpost`]: begins and ends a child, on whatever node that is |
//! | `seat` | [`Seat`]: a worker's end of the join or gossip, and what it hears there |
//! | `rounds` | where a worker's rounds begin and end |
//! | `parameter_server` | [`ParameterServer`]: a shard of the centre |
//! | `gossip_peer` | [`GossipPeer`]: a child's mailbox among its neighbours' |
//! | `middle` | [`Middle`]: what the children have between them, shards or mailboxes |
//! | `join_coordinator` | [`JoinCoordinator`]: who begins a round when, which update fires, who leaves |
//! | `copying` | a checkpoint of a join under way |
//! | `kept` | [`Kept`]: a state to be written as a checkpoint |
//! | `checkpointer` | [`Checkpointer`]: writes snapshots while training goes on |
//! | `recorder` | [`Recorder`]: the log of events, and who else wants to hear of committed steps |
//! | `committed` | [`Committed`] steps, as they are told |
//! | `told` | what there is to tell of them, gathered for a few milliseconds |
//!
//! The hot path makes no hop: workers step by themselves, meeting at the arena's barrier. Messages form groups, feed
//! batches and tell what happened.
mod alive;
mod all_reduce_coordinator;
mod bulk;
mod checkpointer;
mod child;
mod child_state;
mod close;
mod committed;
mod copying;
mod data_loader;
mod feed;
mod gossip_peer;
mod gradient_worker;
mod group;
mod join_coordinator;
mod kept;
mod lease;
mod middle;
mod outpost;
mod parameter_server;
mod recorder;
mod rounds;
mod seat;
mod stall;
mod told;

pub use alive::Alive;
pub use all_reduce_coordinator::{AllReduceCoordinator, End, Ended, Stop, Train};
pub use checkpointer::{Checkpointer, Save};
pub use child::Child;
pub use child_state::ChildState;
pub use committed::{Committed, Skipped, StepRecord};
pub use data_loader::{DataLoader, Feed, Refill};
pub use gossip_peer::{Acquaint, GossipPeer};
pub use gradient_worker::GradientWorker;
pub use group::{Group, KeptBack, Linked, Links, TakenUp};
pub use join_coordinator::{Inner, JoinChild, JoinCoordinator, JoinFacts};
pub use kept::{Joined, Kept};
pub use lease::{Lease, LeaseEnd, NonFinite, Pace};
pub use middle::Middle;
pub use outpost::{Centre, ChildEnd, Enter, Outpost, Verdict};
pub use parameter_server::{Load, ParameterServer, Push, Shown, Task};
pub use recorder::{Keep, Listen, Listener, Recorder, Sync};
pub use seat::{Begun, Ear, Holder, Lead, Note, Part, Pulled, Seat};
