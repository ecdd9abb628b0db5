//! The traits a user implements.

use crate::Context;

/// A piece of state that handles one message at a time. It is made by a factory, and made again after a panic.
pub trait Actor: Sized + Unpin + 'static {
    /// What it is, for logs and tables, such as `gradient-worker`.
    const KIND: &'static str;

    /// Called on the actor's own thread before its first message, and again after each restart.
    fn started(&mut self, _context: &mut Context<'_, Self>) {}

    /// Called when it stops in order; not after a panic.
    fn stopped(&mut self) {}
}

/// Something that can be sent to an actor.
pub trait Message: Send + 'static {
    /// What an ask is answered with; `()` where there is nothing to say.
    type Reply: Send + 'static;
}

/// An actor's handling of one kind of message.
pub trait Handler<M: Message>: Actor {
    /// Handles the message. Blocking is fine on a thread of the actor's own, and nowhere else.
    fn handle(&mut self, message: M, context: &mut Context<'_, Self>) -> M::Reply;
}
