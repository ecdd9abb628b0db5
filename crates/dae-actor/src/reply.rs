//! A reply that comes later than the turn of the message that asked for it.

use crate::AskError;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::oneshot;

/// The answering end: travels inside a message and is kept by the actor until it knows the answer.
#[derive(Debug)]
pub struct ReplyTo<T>(oneshot::Sender<T>);

/// The waiting end.
pub struct Reply<T> {
    name: String,
    from: From<T>,
}

/// Where the answer comes from.
enum From<T> {
    Here(oneshot::Receiver<T>),
    There(Pin<Box<dyn Future<Output = Result<T, AskError>> + Send>>),
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Two ends of one reply; `name` is who owes it, for errors.
pub fn reply<T>(name: impl Into<String>) -> (ReplyTo<T>, Reply<T>) {
    let (sender, receiver) = oneshot::channel();
    (ReplyTo(sender), Reply { name: name.into(), from: From::Here(receiver) })
}

impl<T> ReplyTo<T> {
    /// Answers. An asker that has given up is not an error.
    pub fn send(self, answer: T) {
        drop(self.0.send(answer));
    }
}

impl<T> Reply<T> {
    /// One whose answer comes from another node.
    pub(crate) fn there(
        name: String,
        answer: impl Future<Output = Result<T, AskError>> + Send + 'static,
    ) -> Self {
        Self { name, from: From::There(Box::pin(answer)) }
    }

    /// Waits for the answer, at most `deadline` from now.
    ///
    /// # Errors
    /// If there is none in time, or the answering end was dropped, as by a panic. Of an actor on another node, all
    /// that an ask of it can fail with.
    pub async fn within(self, deadline: Duration) -> Result<T, AskError> {
        let name = self.name.clone();
        let answer = tokio::time::timeout(deadline, self.wait()).await;
        answer.unwrap_or(Err(AskError::Deadline { name, deadline }))
    }

    /// Waits for the answer, for as long as it may still come.
    pub(crate) async fn wait(self) -> Result<T, AskError> {
        match self.from {
            From::Here(receiver) => receiver.await.map_err(|_| AskError::Dropped { name: self.name }),
            From::There(answer) => answer.await,
        }
    }
}
