//! A reply that comes later than the turn of the message that asked for it.

use crate::AskError;
use std::time::Duration;
use tokio::sync::oneshot;

/// The answering end: travels inside a message and is kept by the actor until it knows the answer.
#[derive(Debug)]
pub struct ReplyTo<T>(oneshot::Sender<T>);

/// The waiting end.
#[derive(Debug)]
pub struct Reply<T> {
    name: String,
    receiver: oneshot::Receiver<T>,
}

/// Two ends of one reply; `name` is who owes it, for errors.
pub fn reply<T>(name: impl Into<String>) -> (ReplyTo<T>, Reply<T>) {
    let (sender, receiver) = oneshot::channel();
    (
        ReplyTo(sender),
        Reply {
            name: name.into(),
            receiver,
        },
    )
}

impl<T> ReplyTo<T> {
    /// Answers. An asker that has given up is not an error.
    pub fn send(self, answer: T) {
        drop(self.0.send(answer));
    }
}

impl<T> Reply<T> {
    /// Waits for the answer, at most `deadline` from now.
    ///
    /// # Errors
    /// If there is none in time, or the answering end was dropped, as by a panic.
    pub async fn within(self, deadline: Duration) -> Result<T, AskError> {
        match tokio::time::timeout(deadline, self.receiver).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(AskError::Dropped { name: self.name }),
            Err(_) => Err(AskError::Deadline {
                name: self.name,
                deadline,
            }),
        }
    }
}
