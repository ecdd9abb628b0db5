//! All-reduce and friends: flat shared memory and a barrier that breaks instead of hanging on one node, sums over several
//! nodes, pure decisions.
//!
//! | module | what it holds |
//! |---|---|
//! | `buffer` | [`FlatBuffer`]: 64-byte-aligned f32 memory that several threads share by phases |
//! | `barrier` | [`Barrier`]: spins, then parks; broken by a failure or a stall, never waited for in vain |
//! | `doing` | [`Doing`]: what a rank is at, for whoever has to say why others wait |
//! | `commit` | [`Contribution`] of each rank and the [`Commit`] all ranks decide alike from them |
//! | `arena` | [`Arena`]: parameters, optimizer state and a gradient slot per rank |
//! | `member` | [`Member`]: one rank's hand in the arena: its slot, the reduce, its slice |
//! | `apply` | [`Apply`]: what it may touch while a step is applied |
//! | `exact` | [`Scale`]: sums of integers, which do not depend on the order of their terms |
//! | `peers` | [`Peers`]: the other nodes, as one local rank sees them |
//! | `noted` | links that say which nodes are waited for |
//! | `element` | [`Element`]: numbers that are summed, and [`sum`] |
//! | `algorithm` | [`Algorithm`]: the ways a collective can go |
//! | `plan` | [`Plan`]: what each rank sends and receives in a [`Collective`], as plain data |
//! | `perform` | [`perform`]: what a plan says, done over [`Peers`] |
//! | `cost` | [`Cost`]: what a sum over nodes costs by each algorithm |
//! | `probe` | [`Probed`]: that cost, measured between the very nodes |
//! | `timed` | [`Timed`]: how long sums take, and what each link can do |
//! | `worst` | figures that all nodes agree on |
//! | `codec` | [`Codec`]: numbers in fewer bytes, and what is lost kept for the next time |
//! | `coded` | a sum over nodes whose numbers travel in a codec |
//! | `low_rank` | a sum over nodes in which matrices travel as products of two thin ones |
//! | `means` | [`Means`]: which algorithm, or which codec |
//! | `across` | one rank's part in the sum over all nodes |
//! | `memory_peers` | [`MemoryPeers`]: nodes that are threads of one process, for tests |
//! | `snapshot` | [`Snapshot`]: a copy of the arena that a checkpointer reads while training goes on |
mod across;
mod algorithm;
mod apply;
mod arena;
mod barrier;
mod buffer;
mod codec;
mod coded;
mod commit;
mod cost;
mod doing;
mod element;
mod exact;
mod low_rank;
mod means;
mod member;
mod memory_peers;
mod noted;
mod peers;
mod perform;
mod plan;
mod probe;
mod snapshot;
mod timed;
mod worst;

pub use algorithm::Algorithm;
pub use apply::Apply;
pub use arena::{Arena, ArenaError};
pub use barrier::{Barrier, Broken};
pub use buffer::FlatBuffer;
pub use codec::{Codec, CodecError};
pub use commit::{Commit, Contribution, Culprit};
pub use cost::{Choice, Cost};
pub use doing::{Doing, Seen};
pub use element::{Element, sum};
pub use exact::{Scale, exact_sum_of_squares, larger, peak, unit_of_squares};
pub use low_rank::Matrix;
pub use means::Means;
pub use member::Member;
pub use memory_peers::MemoryPeers;
pub use peers::{Incoming, Outgoing, Peers, Phase, Tag};
pub use perform::perform;
pub use plan::{Collective, Plan, Receive, Round, Send, Take};
pub use probe::Probed;
pub use snapshot::Snapshot;
pub use timed::{Timed, Times};
