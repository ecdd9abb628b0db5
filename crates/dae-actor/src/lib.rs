//! One typed reference to an actor, with bounded mailboxes, deadlines and supervision; on actix.
//!
//! | module | what it holds |
//! |---|---|
//! | `actor` | the traits a user implements: [`Actor`], [`Message`], [`Handler`] |
//! | `actor_ref` | [`ActorRef`]: tell, ask with a deadline, watch |
//! | `cell` | what surrounds an actor: catches its panics, restarts it from its factory |
//! | `context` | [`Context`]: what an actor sees of its surroundings |
//! | `living` | which actors' threads are still at work |
//! | `panics` | panics caught, with their place |
//! | `policy` | [`Restart`]: how often and how soon an actor is restarted |
//! | `reply` | [`ReplyTo`]: an answer that comes later than the turn that asked for it |
//! | `status` | [`Status`]: what is known of an actor: restarts, first cause, whether it stopped |
//! | `system` | [`System`]: starts actors, ends them all |
//!
//! What is promised (order, loss, stop, restart) is written in `docs/runtime-semantics.md`.
mod actor;
mod actor_ref;
mod cell;
mod context;
mod living;
mod panics;
mod policy;
mod reply;
mod status;
mod system;

pub use actor::{Actor, Handler, Message};
pub use actor_ref::{ActorRef, AskError, TellError};
pub use context::Context;
pub use policy::Restart;
pub use reply::{Reply, ReplyTo, reply};
pub use status::{Status, Stopped};
pub use system::{Spawn, System, Thread};
