//! All-reduce and friends on one node: flat shared memory, a barrier that breaks instead of hanging, pure decisions.
//!
//! | module | what it holds |
//! |---|---|
//! | `buffer` | [`FlatBuffer`]: 64-byte-aligned f32 memory that several threads share by phases |
//! | `barrier` | [`Barrier`]: spins, then parks; broken by a failure or a stall, never waited for in vain |
//! | `commit` | [`Contribution`] of each rank and the [`Commit`] all ranks decide alike from them |
//! | `arena` | [`Arena`]: parameters, optimizer state and a gradient slot per rank |
//! | `member` | [`Member`]: one rank's hand in the arena: its slot, the reduce, its slice |
//! | `snapshot` | [`Snapshot`]: a copy of the arena that a checkpointer reads while training goes on |
mod arena;
mod barrier;
mod buffer;
mod commit;
mod member;
mod snapshot;

pub use arena::{Arena, ArenaError};
pub use barrier::{Barrier, Broken};
pub use buffer::FlatBuffer;
pub use commit::{Commit, Contribution};
pub use member::{Apply, Member};
pub use snapshot::Snapshot;
