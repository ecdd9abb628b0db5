//! The links between the hosts of a job, and what the collective does over them.
//!
//! | module | what it holds |
//! |---|---|
//! | `meeting` | [`Meeting`]: every host of a job comes to have links to every other, for its workers and for actors |
//! | `peers` | [`LinkPeers`]: one local worker's links, as the collective sees them |
//! | `line` | [`line::Line`]: one of them, and the frames on it |
mod line;
mod meeting;
mod peers;

pub(crate) use meeting::{Links, Meeting};
pub(crate) use peers::LinkPeers;
