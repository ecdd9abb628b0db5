//! The daemons of a cluster: who is in it, and how they place, start, watch and end the hosts of a job.
//!
//! | module | what it holds |
//! |---|---|
//! | `protocol` | what daemons, clients and hosts say to a daemon |
//! | `daemon` | [`daemon::Daemon`]: a daemon, put together from its settings |
//! | `client` | [`client::Client`]: what is asked of a daemon on this machine |
//! | `doctor` | what may keep this machine from joining |
//! | `mesh` | whom to dial, and when |
//! | `node_actor` | [`NodeActor`]: a daemon's one actor, which all of them speak to |
//! | `jobs` | [`Jobs`]: the jobs and hosts a daemon looks after |
//! | `host_actor` | [`HostActor`]: the actor of a host that its daemon speaks to |
//! | `host_process`, `host_start` | a host's process: started, watched, ended, reaped |
//! | `placement` | which nodes a job's hosts go to |
//! | `logs` | the log of a job |
//! | `sockets` | [`Sockets`]: where daemons and clients of one machine meet |
//! | `stderr` | [`Stderr`]: lines on stderr that hold nobody up |
//! | `resources` | [`Resources`]: what this machine has to give |
pub mod client;
pub mod daemon;
pub mod doctor;
mod host_actor;
mod host_process;
mod host_start;
mod jobs;
mod logs;
mod mesh;
mod node_actor;
mod placement;
pub mod protocol;
mod resources;
mod sockets;
mod stderr;

pub use host_actor::HostActor;
pub use jobs::{HostConnected, Jobs};
pub use node_actor::{Me, NodeActor};
pub use resources::Resources;
pub use sockets::{Claim, SocketError, Sockets, check_name};
pub use stderr::Stderr;
