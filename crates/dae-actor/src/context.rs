//! What an actor sees of its surroundings while it handles a message.

use crate::cell::Cell;
use crate::{Actor, ActorRef};
use actix::fut::{ActorFutureExt, wrap_future};
use actix::{ActorContext, AsyncContext};
use std::future::Future;

/// The surroundings of an actor during one message.
pub struct Context<'a, A: Actor> {
    pub(crate) me: ActorRef<A>,
    pub(crate) inner: &'a mut actix::Context<Cell<A>>,
}

impl<A: Actor> Context<'_, A> {
    /// A reference to the actor itself.
    pub fn me(&self) -> ActorRef<A> {
        self.me.clone()
    }

    /// Stops the actor in order, after this message.
    pub fn stop(&mut self) {
        self.inner.stop();
    }

    /// Lets a future run beside the mailbox and hands its output back to the actor, in a turn like any message's.
    /// A panic in `then` counts as the actor's own.
    pub fn spawn<T: 'static>(
        &mut self,
        future: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut A, T, &mut Context<'_, A>) + 'static,
    ) {
        let turn = wrap_future::<_, Cell<A>>(future).map(|output, cell, inner| {
            // The cell has recorded a panic; there is nobody else to answer.
            drop(cell.turn(inner, |actor, context| then(actor, output, context)));
        });
        self.inner.spawn(turn);
    }
}
