//! What surrounds an actor: it catches the actor's panics and makes it anew from its factory.

use crate::errand::Errand;
use crate::living::Life;
use crate::panics::caught;
use crate::status::Ticket;
use crate::wire::Why;
use crate::{Actor, ActorRef, Context, Handler, Message, Restart, Status, Stopped};
use actix::fut::wrap_future;
use actix::{ActorContext, AsyncContext};
use std::marker::PhantomData;
use std::sync::Arc;

/// The actix actor around one of ours. actix ends an actor for good when it panics and would restart the same
/// instance; the cell outlives panics, so the mailbox and everything waiting in it do too.
pub(crate) struct Cell<A: Actor> {
    actor: Option<A>,
    factory: Box<dyn FnMut() -> A + Send>,
    restart: Restart,
    status: Arc<Status>,
    /// On a thread of its own: when the cell goes, the thread is free to end.
    _life: Option<Life>,
}

/// A message on its way to a cell.
pub(crate) struct Deliver<M>(pub(crate) M, pub(crate) Ticket);

impl<M: Message> actix::Message for Deliver<M> {
    type Result = Answer<M::Reply>;
}

/// What comes back: the reply, or why there is none.
pub(crate) struct Answer<T>(pub(crate) Result<T, NoAnswer>);

/// Why a message was not handled to its end.
pub(crate) enum NoAnswer {
    Panicked(String),
    Stopped(Stopped),
}

impl<C, M, T: 'static> actix::dev::MessageResponse<C, M> for Answer<T>
where
    C: actix::Actor,
    M: actix::Message<Result = Self>,
{
    fn handle(self, _: &mut C::Context, tx: Option<actix::dev::OneshotSender<Self>>) {
        if let Some(tx) = tx {
            // The asker may have given up: its deadline has passed.
            drop(tx.send(self));
        }
    }
}

impl<A: Actor> Cell<A> {
    pub(crate) fn new(
        factory: impl FnMut() -> A + Send + 'static,
        restart: Restart,
        status: Arc<Status>,
        life: Option<Life>,
    ) -> Self {
        Self { actor: None, factory: Box::new(factory), restart, status, _life: life }
    }

    /// Gives the actor one turn, making it first if there is none.
    pub(crate) fn turn<T>(
        &mut self,
        inner: &mut actix::Context<Self>,
        body: impl FnOnce(&mut A, &mut Context<'_, A>) -> T,
    ) -> Result<T, NoAnswer> {
        if let Some(why) = self.status.stopped() {
            return Err(NoAnswer::Stopped(why));
        }
        let me = ActorRef::here(inner.address(), self.status.clone());
        let Self { actor, factory, .. } = self;
        let outcome = caught(|| {
            let mut context = Context { me, inner };
            if actor.is_none() {
                actor.insert(factory()).started(&mut context);
            }
            // Made above if it was missing.
            actor.as_mut().map(|a| body(a, &mut context))
        });
        match outcome {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(NoAnswer::Stopped(Stopped::InOrder)),
            Err(cause) => {
                self.failed(&cause, inner);
                Err(NoAnswer::Panicked(cause))
            }
        }
    }

    fn failed(&mut self, cause: &str, inner: &mut actix::Context<Self>) {
        // Before what is left of it goes: who sees that it has gone, by a channel that ends, finds the cause.
        let panics = self.status.panicked(cause);
        // Dropping it may panic as well; the first cause is what counts.
        drop(caught(|| self.actor.take()));
        let name = self.status.name();
        match self.restart.pause(panics) {
            Some(pause) => {
                tracing::warn!(
                    actor = name,
                    restart = panics,
                    limit = self.restart.limit,
                    cause,
                    "actor restarts"
                );
                if !pause.is_zero() {
                    // The mailbox waits with it: that is the back-off.
                    let until = tokio::time::Instant::now() + pause;
                    inner.wait(wrap_future(tokio::time::sleep_until(until)));
                }
            }
            None => {
                tracing::error!(actor = name, panics, cause, "actor stops for good");
                self.status.stop(Stopped::Panicked(cause.into()));
                inner.stop();
            }
        }
    }
}

impl<A: Actor> actix::Actor for Cell<A> {
    type Context = actix::Context<Self>;

    fn started(&mut self, inner: &mut Self::Context) {
        // A panic while starting is recorded like any other; the next message tries again within the limit.
        drop(self.turn(inner, |_, _| ()));
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        if let Some(mut actor) = self.actor.take()
            && let Err(cause) = caught(|| actor.stopped())
        {
            self.status.panicked(&cause);
        }
        self.status.stop(Stopped::InOrder);
    }
}

impl<A: Handler<M>, M: Message> actix::Handler<Deliver<M>> for Cell<A> {
    type Result = Answer<M::Reply>;

    fn handle(&mut self, Deliver(message, ticket): Deliver<M>, inner: &mut Self::Context) -> Self::Result {
        let answer = Answer(self.turn(inner, |actor, context| actor.handle(message, context)));
        drop(ticket);
        answer
    }
}

/// A message that came from another node. Its answer is written on the actor's own thread and queued from there: no
/// other task has to wake for it.
pub(crate) struct FromAfar<M: Message> {
    pub(crate) message: M,
    pub(crate) ticket: Ticket,
    pub(crate) errand: Errand,
    pub(crate) answer: fn(M::Reply, Errand),
}

impl<M: Message> actix::Message for FromAfar<M> {
    type Result = ();
}

impl<A: Handler<M>, M: Message> actix::Handler<FromAfar<M>> for Cell<A> {
    type Result = ();

    fn handle(&mut self, far: FromAfar<M>, inner: &mut Self::Context) {
        let FromAfar { message, ticket, errand, answer } = far;
        if !errand.is_wanted() {
            return errand.give_up();
        }
        let outcome = self.turn(inner, |actor, context| actor.handle(message, context));
        drop(ticket);
        match outcome {
            Ok(reply) => answer(reply, errand),
            Err(NoAnswer::Panicked(cause)) => errand.fail(Why::Panicked(cause)),
            Err(NoAnswer::Stopped(why)) => errand.fail(Why::Stopped(why)),
        }
    }
}

/// Ends the actor in order.
pub(crate) struct End<A>(pub(crate) PhantomData<fn() -> A>);

impl<A> actix::Message for End<A> {
    type Result = ();
}

impl<A: Actor> actix::Handler<End<A>> for Cell<A> {
    type Result = ();

    fn handle(&mut self, _: End<A>, inner: &mut Self::Context) {
        inner.stop();
    }
}
