//! A typed reference to an actor, here or on another node.

use crate::cell::{Answer, Cell, Deliver, End, FromAfar, NoAnswer};
use crate::errand::Errand;
use crate::there::There;
use crate::wire::Why;
use crate::{Actor, AskError, Handler, Message, Status, Stopped, TellError};
use actix::MailboxError;
use actix::dev::SendError;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A reference to an actor. Cheap to clone; messages of one sender arrive in the order they were sent.
pub struct ActorRef<A: Actor>(Place<A>);

/// Where the actor is.
enum Place<A: Actor> {
    Here(Here<A>),
    There(Arc<There>),
}

struct Here<A: Actor> {
    addr: actix::Addr<Cell<A>>,
    status: Arc<Status>,
}

impl<A: Actor> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Place::Here(Here { addr, status }) => {
                Place::Here(Here { addr: addr.clone(), status: status.clone() })
            }
            Place::There(there) => Place::There(there.clone()),
        })
    }
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn here(addr: actix::Addr<Cell<A>>, status: Arc<Status>) -> Self {
        Self(Place::Here(Here { addr, status }))
    }

    pub(crate) fn there(there: There) -> Self {
        Self(Place::There(Arc::new(there)))
    }

    /// What is known of the actor. Of one on another node that is its name, and whether it can be reached.
    pub fn status(&self) -> &Status {
        match &self.0 {
            Place::Here(here) => &here.status,
            Place::There(there) => there.status(),
        }
    }

    /// The record of an actor that lives here.
    pub(crate) fn record(&self) -> Option<&Arc<Status>> {
        match &self.0 {
            Place::Here(here) => Some(&here.status),
            Place::There(_) => None,
        }
    }

    /// Sends without waiting. To another node, it is on its way then; what comes of it is not told.
    ///
    /// # Errors
    /// If the mailbox is full, or the queue of the link to it; if the actor has stopped, or cannot be reached. The
    /// message comes back.
    pub fn tell<M: Message>(&self, message: M) -> Result<(), TellError<M>>
    where
        A: Handler<M>,
    {
        let here = match &self.0 {
            Place::Here(here) => here,
            Place::There(there) => return there.tell(message),
        };
        // Known before the mailbox is closed, which takes actix another moment.
        if let Some(why) = here.status.stopped() {
            return Err(TellError::Stopped(message, why));
        }
        let Some(ticket) = here.status.admit() else {
            return Err(TellError::Full(message));
        };
        here.addr.try_send(Deliver(message, ticket)).map_err(|e| match e {
            SendError::Full(Deliver(m, _)) => TellError::Full(m),
            SendError::Closed(Deliver(m, _)) => TellError::Stopped(m, here.why()),
        })
    }

    /// Sends and waits for the reply, at most `deadline` from now.
    ///
    /// # Errors
    /// If the mailbox is full, there is no answer in time, the actor panics on the message, it has stopped, or it
    /// cannot be reached.
    pub async fn ask<M: Message>(&self, message: M, deadline: Duration) -> Result<M::Reply, AskError>
    where
        A: Handler<M>,
    {
        let here = match &self.0 {
            Place::Here(here) => here,
            // Apart, so that an ask within a node carries none of this.
            Place::There(there) => return Box::pin(there.ask(message, deadline)).await,
        };
        let name = || here.status.name().to_owned();
        if let Some(why) = here.status.stopped() {
            return Err(AskError::Stopped { name: name(), why });
        }
        let Some(ticket) = here.status.admit() else {
            return Err(AskError::Full { name: name(), bound: here.status.bound() });
        };
        match here.addr.send(Deliver(message, ticket)).timeout(deadline).await {
            Ok(Answer(Ok(reply))) => Ok(reply),
            Ok(Answer(Err(NoAnswer::Panicked(cause)))) => Err(AskError::Panicked { name: name(), cause }),
            Ok(Answer(Err(NoAnswer::Stopped(why)))) => Err(AskError::Stopped { name: name(), why }),
            Err(MailboxError::Timeout) => Err(AskError::Deadline { name: name(), deadline }),
            Err(MailboxError::Closed) => Err(AskError::Stopped { name: name(), why: here.why() }),
        }
    }

    /// Waits until the actor has stopped for good, or can no longer be reached, and says why.
    pub async fn stopped(&self) -> Stopped {
        match &self.0 {
            Place::Here(here) => here.status.ended().await,
            Place::There(there) => there.stopped().await,
        }
    }

    /// Ends the actor in order: what is in its mailbox by now is handled first.
    ///
    /// # Errors
    /// If it has not stopped within `deadline`, or lives on another node: only there can it be ended.
    pub async fn end(&self, deadline: Duration) -> Result<Stopped, AskError> {
        let name = self.status().name().to_owned();
        let Place::Here(here) = &self.0 else {
            let why =
                "an actor can be ended only on its own node; send it a message that makes it stop".into();
            return Err(AskError::Refused { name, why });
        };
        let stopped = async {
            // A stopped actor cannot be told; that is as good as done.
            let _ = here.addr.send(End::<A>(PhantomData)).await;
            self.stopped().await
        };
        tokio::time::timeout(deadline, stopped).await.map_err(|_| AskError::Deadline { name, deadline })
    }

    /// Hands over a message that came from another node; `answer` takes the reply back there.
    pub(crate) fn serve<M: Message>(&self, message: M, mut errand: Errand, answer: fn(M::Reply, Errand))
    where
        A: Handler<M>,
    {
        let Place::Here(here) = &self.0 else {
            return errand.fail(Why::Refused("it lives on yet another node".into()));
        };
        if let Some(why) = here.status.stopped() {
            return errand.fail(Why::Stopped(why));
        }
        let Some(ticket) = here.status.admit() else {
            return errand.fail(Why::Full(here.status.bound() as u64));
        };
        errand.to = Some(here.status.clone());
        if let Err(SendError::Full(back) | SendError::Closed(back)) =
            here.addr.try_send(FromAfar { message, ticket, errand, answer })
        {
            back.errand.fail(Why::Stopped(here.why()));
        }
    }
}

impl<A: Actor> Here<A> {
    fn why(&self) -> Stopped {
        self.status.stopped().unwrap_or(Stopped::InOrder)
    }
}
