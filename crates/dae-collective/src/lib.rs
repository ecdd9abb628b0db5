//! All-reduce and friends: flat shared memory and a barrier that breaks instead of hanging on one node, sums over several
//! nodes, pure decisions.
//!
//! | module | what it holds |
//! |---|---|
//! | `buffer` | [`FlatBuffer`]: 64-byte-aligned f32 memory that several threads share by phases |
//! | `barrier` | [`Barrier`]: spins, then parks; broken by a failure or a stall, never waited for in vain |
//! | `commit` | [`Contribution`] of each rank and the [`Commit`] all ranks decide alike from them |
//! | `arena` | [`Arena`]: parameters, optimizer state and a gradient slot per rank |
//! | `member` | [`Member`]: one rank's hand in the arena: its slot, the reduce, its slice |
//! | `exact` | [`Scale`]: sums of integers, which do not depend on the order of their terms |
//! | `peers` | [`Peers`]: the other nodes, as one local rank sees them |
//! | `across` | one rank's part in the sum over all nodes |
//! | `memory_peers` | [`MemoryPeers`]: nodes that are threads of one process, for tests |
//! | `snapshot` | [`Snapshot`]: a copy of the arena that a checkpointer reads while training goes on |
mod across;
mod arena;
mod barrier;
mod buffer;
mod commit;
mod exact;
mod member;
mod memory_peers;
mod peers;
mod snapshot;

pub use arena::{Arena, ArenaError};
pub use barrier::{Barrier, Broken};
pub use buffer::FlatBuffer;
pub use commit::{Commit, Contribution, Culprit};
pub use exact::{Scale, exact_sum_of_squares, larger, unit_of_squares};
pub use member::{Apply, Member};
pub use memory_peers::MemoryPeers;
pub use peers::{Incoming, Outgoing, Peers, Phase, Tag};
pub use snapshot::Snapshot;
