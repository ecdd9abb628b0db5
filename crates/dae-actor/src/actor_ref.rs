//! A typed reference to an actor.

use crate::cell::{Answer, Cell, Deliver, End, NoAnswer};
use crate::{Actor, Handler, Message, Status, Stopped};
use actix::MailboxError;
use actix::dev::SendError;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Why a message was not taken; it comes back.
#[derive(thiserror::Error)]
pub enum TellError<M> {
    /// The mailbox is at its bound: try again later, or drop it knowingly.
    #[error("the actor's mailbox is full")]
    Full(M),
    /// The actor has stopped for good.
    #[error("the actor has stopped: {1}")]
    Stopped(M, Stopped),
}

impl<M> std::fmt::Debug for TellError<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The mailbox is at its bound; nothing was sent.
    #[error("the mailbox of {name} is full ({bound} messages)")]
    Full {
        /// The actor's name.
        name: String,
        /// The bound of its mailbox.
        bound: usize,
    },
    /// The deadline passed. A message the actor had not come to by then is not handled any more; one it was at is
    /// handled to its end.
    #[error("{name} did not answer within {deadline:?}")]
    Deadline {
        /// The actor's name.
        name: String,
        /// The bound that was given.
        deadline: Duration,
    },
    /// The actor dropped the answering end, as by a panic between the question and the answer.
    #[error("{name} failed before it answered")]
    Dropped {
        /// The actor's name.
        name: String,
    },
    /// The actor panicked on this very message.
    #[error("{name} failed: {cause}")]
    Panicked {
        /// The actor's name.
        name: String,
        /// The message and place of the panic.
        cause: String,
    },
    /// The actor had stopped, or stopped before it came to the message.
    #[error("{name} has stopped: {why}")]
    Stopped {
        /// The actor's name.
        name: String,
        /// Why.
        why: Stopped,
    },
}

/// A reference to an actor. Cheap to clone; messages of one sender arrive in the order they were sent.
pub struct ActorRef<A: Actor> {
    addr: actix::Addr<Cell<A>>,
    status: Arc<Status>,
}

impl<A: Actor> Clone for ActorRef<A> {
    fn clone(&self) -> Self {
        Self { addr: self.addr.clone(), status: self.status.clone() }
    }
}

impl<A: Actor> ActorRef<A> {
    pub(crate) fn new(addr: actix::Addr<Cell<A>>, status: Arc<Status>) -> Self {
        Self { addr, status }
    }

    /// What is known of the actor.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Sends without waiting.
    ///
    /// # Errors
    /// If the mailbox is full or the actor has stopped; the message comes back.
    pub fn tell<M: Message>(&self, message: M) -> Result<(), TellError<M>>
    where
        A: Handler<M>,
    {
        // Known before the mailbox is closed, which takes actix another moment.
        if let Some(why) = self.status.stopped() {
            return Err(TellError::Stopped(message, why));
        }
        let Some(ticket) = self.status.admit() else {
            return Err(TellError::Full(message));
        };
        self.addr.try_send(Deliver(message, ticket)).map_err(|e| match e {
            SendError::Full(Deliver(m, _)) => TellError::Full(m),
            SendError::Closed(Deliver(m, _)) => TellError::Stopped(m, self.why()),
        })
    }

    /// Sends and waits for the reply, at most `deadline` from now.
    ///
    /// # Errors
    /// If the mailbox is full, there is no answer in time, the actor panics on the message, or it has stopped.
    pub async fn ask<M: Message>(&self, message: M, deadline: Duration) -> Result<M::Reply, AskError>
    where
        A: Handler<M>,
    {
        let name = || self.status.name().to_owned();
        if let Some(why) = self.status.stopped() {
            return Err(AskError::Stopped { name: name(), why });
        }
        let Some(ticket) = self.status.admit() else {
            return Err(AskError::Full { name: name(), bound: self.status.bound() });
        };
        match self.addr.send(Deliver(message, ticket)).timeout(deadline).await {
            Ok(Answer(Ok(reply))) => Ok(reply),
            Ok(Answer(Err(NoAnswer::Panicked(cause)))) => Err(AskError::Panicked { name: name(), cause }),
            Ok(Answer(Err(NoAnswer::Stopped(why)))) => Err(AskError::Stopped { name: name(), why }),
            Err(MailboxError::Timeout) => Err(AskError::Deadline { name: name(), deadline }),
            Err(MailboxError::Closed) => Err(AskError::Stopped { name: name(), why: self.why() }),
        }
    }

    /// Waits until the actor has stopped for good, and says why.
    pub async fn stopped(&self) -> Stopped {
        let mut watch = self.status.watch();
        let why = watch.wait_for(Option::is_some).await.ok().and_then(|w| w.clone());
        why.unwrap_or(Stopped::InOrder)
    }

    /// Ends the actor in order: what is in its mailbox by now is handled first.
    ///
    /// # Errors
    /// If it has not stopped within `deadline`.
    pub async fn end(&self, deadline: Duration) -> Result<Stopped, AskError> {
        let stopped = async {
            // A stopped actor cannot be told; that is as good as done.
            let _ = self.addr.send(End::<A>(PhantomData)).await;
            self.stopped().await
        };
        tokio::time::timeout(deadline, stopped)
            .await
            .map_err(|_| AskError::Deadline { name: self.status.name().to_owned(), deadline })
    }

    fn why(&self) -> Stopped {
        self.status.stopped().unwrap_or(Stopped::InOrder)
    }
}
