//! The daemons of a cluster: who is in it, and how they place, start, watch and end the hosts of a job.
//!
//! | module | what it holds |
//! |---|---|
//! | `protocol` | what daemons, clients and hosts say to a daemon |
//! | `node_actor` | [`NodeActor`]: a daemon's one actor, which all of them speak to |
//! | `jobs` | [`Jobs`]: the jobs and hosts a daemon looks after |
//! | `sockets` | [`Sockets`]: where daemons and clients of one machine meet |
//! | `resources` | [`Resources`]: what this machine has to give |
mod jobs;
mod node_actor;
pub mod protocol;
mod resources;
mod sockets;

pub use jobs::Jobs;
pub use node_actor::{Me, NodeActor};
pub use resources::Resources;
pub use sockets::{Claimed, SocketError, Sockets, check_name};
