//! Why a barrier will not open any more.

use std::time::Duration;

/// Why a barrier will not open any more; the first cause, the same for every rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A rank failed or left while others waited.
    #[error("rank {rank} left the group: {cause}")]
    Left {
        /// The rank that left.
        rank: usize,
        /// What made it leave.
        cause: String,
    },
    /// Some ranks did not arrive in time.
    #[error("ranks {missing:?} did not arrive within {waited:?}; rank {seen_by} waited for them: {doing}")]
    Stalled {
        /// The ranks that were waited for.
        missing: Vec<usize>,
        /// Who noticed.
        seen_by: usize,
        /// The bound that was passed.
        waited: Duration,
        /// What those were at that were waited for.
        doing: String,
    },
    /// Another node was lost, or has gone with a cause of its own.
    #[error("node {node}: {cause}")]
    Node {
        /// Its name.
        node: String,
        /// What is known of it.
        cause: String,
    },
}
