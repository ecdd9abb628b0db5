//! One typed reference to an actor, here or on another node, with bounded mailboxes, deadlines and supervision; on
//! actix.
//!
//! | module | what it holds |
//! |---|---|
//! | `accepts` | [`Remote`] and [`Accepts`]: which messages an actor takes from other nodes |
//! | `actor` | the traits a user implements: [`Actor`], [`Message`], [`Handler`] |
//! | `actor_ref` | [`ActorRef`]: tell, ask with a deadline, watch |
//! | `actors` | [`Actors`] and [`ActorRow`]: what is known of all actors of a system |
//! | `body` | [`Body`]: what can travel between nodes |
//! | `cell` | what surrounds an actor: catches its panics, restarts it from its factory |
//! | `context` | [`Context`]: what an actor sees of its surroundings |
//! | `errand` | a message of the far side, from its arrival until it is answered |
//! | `errors` | [`TellError`] and [`AskError`] |
//! | `line` | what the tasks of a link share with everybody who sends over it |
//! | `living` | which actors' threads are still at work |
//! | `memory_link` | [`MemoryLink`]: a sealed link in memory, for two nodes in one process |
//! | `panics` | panics caught, with their place |
//! | `patience` | waits for the next frame awake for a moment, before it sleeps |
//! | `peer` | [`Peer`]: the far end of a link, with its actors |
//! | `peer_limits` | [`PeerLimits`]: what may be in flight |
//! | `policy` | [`Restart`]: how often and how soon an actor is restarted |
//! | `reader` | reads a link: hands messages to actors, and answers to those that wait |
//! | `registry` | [`Registry`]: the actors that other nodes may send to |
//! | `reply` | [`ReplyTo`]: an answer that comes later than the turn that asked for it |
//! | `slots` | who waits for which answer |
//! | `status` | [`Status`]: what is known of an actor: restarts, first cause, whether it stopped |
//! | `system` | [`System`]: starts actors, ends them all |
//! | `there` | an actor on another node, as its references see it |
//! | `wire` | the frames of a link between actors |
//! | `writer` | writes a link: all that is queued, then one flush |
//!
//! What is promised (order, loss, stop, restart) is written in `docs/runtime-semantics.md`.
mod accepts;
mod actor;
mod actor_ref;
mod actors;
mod body;
mod cell;
mod context;
mod errand;
mod errors;
mod line;
mod living;
mod memory_link;
mod panics;
mod patience;
mod peer;
mod peer_limits;
mod policy;
mod reader;
mod registry;
mod reply;
mod slots;
mod status;
mod system;
mod there;
mod wire;
mod writer;

pub use accepts::{Accepts, Remote};
pub use actor::{Actor, Handler, Message};
pub use actor_ref::ActorRef;
pub use actors::{ActorRow, ActorState, Actors};
pub use body::Body;
pub use context::Context;
pub use errors::{AskError, TellError};
pub use memory_link::MemoryLink;
pub use peer::Peer;
pub use peer_limits::PeerLimits;
pub use policy::Restart;
pub use registry::{PublishError, Registry};
pub use reply::{Reply, ReplyTo, reply};
pub use status::{Status, Stopped};
pub use system::{Spawn, System, Thread};
