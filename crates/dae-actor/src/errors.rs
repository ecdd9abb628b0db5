//! Why a message was not taken, and why there is no answer.

use crate::Stopped;
use std::time::Duration;

/// Why a message was not taken; it comes back.
#[derive(thiserror::Error)]
pub enum TellError<M> {
    /// The mailbox, or the queue of the link to it, is at its bound: try again later, or drop it knowingly.
    #[error("the actor's mailbox is full")]
    Full(M),
    /// The actor has stopped for good.
    #[error("the actor has stopped: {1}")]
    Stopped(M, Stopped),
    /// It cannot travel, or the link to the actor's node has ended.
    #[error("the actor cannot be reached: {1}")]
    Unreachable(M, String),
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
    /// The link to the actor's node has ended; whether the message was handled is not known.
    #[error("{name} cannot be reached: {why}")]
    Unreachable {
        /// The actor's name, and its node's.
        name: String,
        /// Why the link ended.
        why: String,
    },
    /// The message was not taken: it cannot travel, nobody of that name is there, or a bound is reached.
    #[error("{name} was not asked: {why}")]
    Refused {
        /// The actor's name, and its node's.
        name: String,
        /// Why, and what to change.
        why: String,
    },
}
