//! What is known of an actor from outside.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Why an actor stopped for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Stopped {
    /// It, or its owner, ended it in order.
    #[error("stopped in order")]
    InOrder,
    /// It panicked more often than its policy allows.
    #[error("{0}")]
    Panicked(String),
    /// The link to its node has ended, or there is no such actor; whether it stopped is not known.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
}

/// The record of one actor, kept bounded: the first and the latest cause of its panics, and their number.
#[derive(Debug)]
pub struct Status {
    name: String,
    bound: usize,
    depth: AtomicUsize,
    causes: Mutex<Causes>,
    stopped: watch::Sender<Option<Stopped>>,
}

#[derive(Debug, Default, Clone)]
struct Causes {
    panics: u32,
    first: Option<String>,
    latest: Option<String>,
}

impl Status {
    pub(crate) fn new(name: String, bound: usize) -> Self {
        Self {
            name,
            bound,
            depth: AtomicUsize::new(0),
            causes: Mutex::default(),
            stopped: watch::Sender::new(None),
        }
    }

    /// The actor's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bound of its mailbox, in messages.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// The number of messages sent to it and not yet handled to their end.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Acquire)
    }

    /// Whether its mailbox is at its bound.
    pub(crate) fn is_full(&self) -> bool {
        self.depth() >= self.bound
    }

    /// Room for one more message, if there is any.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Ticket> {
        let before = self.depth.fetch_add(1, Ordering::AcqRel);
        // The ticket's drop takes the count back, whether the message was admitted or not.
        let ticket = Ticket(self.clone());
        (before < self.bound).then_some(ticket)
    }

    /// How often it has panicked.
    pub fn panics(&self) -> u32 {
        self.causes().panics
    }

    /// The message and place of its first panic.
    pub fn first_cause(&self) -> Option<String> {
        self.causes().first
    }

    /// The message and place of its latest panic.
    pub fn latest_cause(&self) -> Option<String> {
        self.causes().latest
    }

    /// Why it stopped, if it has.
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped.borrow().clone()
    }

    pub(crate) fn panicked(&self, cause: &str) -> u32 {
        let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        causes.panics += 1;
        causes.first.get_or_insert_with(|| cause.into());
        causes.latest = Some(cause.into());
        causes.panics
    }

    pub(crate) fn stop(&self, why: Stopped) {
        self.stopped.send_if_modified(|s| s.is_none() && s.replace(why).is_none());
    }

    /// Waits until it has stopped, and says why.
    pub(crate) async fn ended(&self) -> Stopped {
        let mut watch = self.stopped.subscribe();
        let why = watch.wait_for(Option::is_some).await.ok().and_then(|w| w.clone());
        why.unwrap_or(Stopped::InOrder)
    }

    fn causes(&self) -> Causes {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A message's place in a mailbox. actix bounds a mailbox by the sender, so that every new reference adds one to the
/// bound; these tickets make it exact, and give the depth.
pub(crate) struct Ticket(Arc<Status>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.depth.fetch_sub(1, Ordering::AcqRel);
    }
}
