//! What the tasks of a link share with everybody who sends over it.

use crate::PeerLimits;
use crate::Stopped;
use crate::body::Letter;
use crate::slots::Slots;
use crate::wire::{self, Why};
use dae_net::Frame;
use std::collections::HashMap;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;

/// One link as its users see it: a queue of what is to be written, and who waits for what.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) peer: String,
    pub(crate) limits: PeerLimits,
    pub(crate) state: Mutex<State>,
    /// Wakes the writer.
    pub(crate) to_write: Notify,
    /// Wakes the reader when there is room again for one more of the far side's asks.
    pub(crate) room: Notify,
    pub(crate) closing: watch::Sender<Option<String>>,
    ended: watch::Sender<Option<String>>,
    /// Bytes of the far side's messages that are not handled yet.
    pub(crate) held: AtomicUsize,
    /// Bytes of the parts that lay beside this side's messages and answers.
    pub(crate) bulk: AtomicU64,
    /// The far side's messages that were told and could not be handed over.
    pub(crate) lost: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    queue: Queue,
    waiting: Slots<oneshot::Sender<Outcome>>,
    /// The far side's asks and watches that are not answered yet, with the task that will.
    pub(crate) serving: HashMap<u64, Option<AbortHandle>>,
    /// Answers that were given and are not written yet.
    pub(crate) unwritten: usize,
    /// Whether the reader waits for room.
    pub(crate) crowded: bool,
}

/// What is to be written.
#[derive(Debug, Default)]
struct Queue {
    frames: Vec<Frame>,
    /// How many of them are this side's own messages, and how many are answers.
    own: usize,
    answers: usize,
    bytes: usize,
}

impl State {
    /// Bytes that wait to be written.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queue.bytes
    }
}

/// What came of an ask or a watch.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answer(Letter),
    Failure(Why),
    Stopped(Stopped),
    Lost(String),
}

/// Why nothing was sent.
#[derive(Debug)]
pub(crate) enum NotSent {
    /// A bound is reached, which the text names.
    Full(String),
    Ended(String),
}

impl Line {
    pub(crate) fn new(peer: String, limits: PeerLimits) -> Arc<Self> {
        Arc::new(Self {
            peer,
            limits,
            state: Mutex::default(),
            to_write: Notify::new(),
            room: Notify::new(),
            closing: watch::Sender::new(None),
            ended: watch::Sender::new(None),
            held: AtomicUsize::new(0),
            bulk: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        })
    }

    /// Whether one more message of this side's own may be queued.
    pub(crate) fn has_room(&self) -> Result<(), NotSent> {
        self.check(&self.lock())
    }

    /// Queues a message nobody waits for.
    pub(crate) fn tell(&self, frame: Frame) {
        let mut state = self.lock();
        // One that ended in this very moment loses it like one that ends in the next.
        if self.has_ended().is_none() {
            self.push(&mut state, frame).own += 1;
        }
    }

    /// Queues a message that will be answered.
    pub(crate) fn ask(self: &Arc<Self>, frame: impl FnOnce(u64) -> Frame) -> Result<Waiting, NotSent> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        self.check(&state)?;
        let most = self.limits.in_flight;
        if state.waiting.len() >= most {
            let why = format!("{most} asks to {} are without an answer (`PeerLimits::in_flight`)", self.peer);
            return Err(NotSent::Full(why));
        }
        let id = state.waiting.insert(sender);
        let frame = frame(id);
        if let Err(why) = wire::fits(&frame, &self.limits.frame) {
            state.waiting.take(id);
            return Err(NotSent::Full(why));
        }
        self.push(&mut state, frame).own += 1;
        Ok(Waiting { line: self.clone(), id, receiver: Some(receiver) })
    }

    /// Hands an answer to whoever waits for it; one that nobody waits for any more is dropped.
    pub(crate) fn settle(&self, id: u64, outcome: Outcome) {
        let waiting = self.lock().waiting.take(id);
        if let Some(waiting) = waiting {
            drop(waiting.send(outcome));
        }
    }

    /// Queues the answer to one of the far side's asks, if it is still wanted.
    pub(crate) fn answer(&self, id: u64, frame: Frame) {
        let mut state = self.lock();
        if state.serving.remove(&id).is_some() {
            state.unwritten += 1;
            self.push(&mut state, frame).answers += 1;
        }
    }

    /// Takes what is to be written; gives the number of answers among it.
    pub(crate) fn drain(&self, into: &mut Vec<Frame>) -> usize {
        let mut state = self.lock();
        mem::swap(&mut state.queue.frames, into);
        let frames = mem::take(&mut state.queue.frames);
        mem::replace(&mut state.queue, Queue { frames, ..Queue::default() }).answers
    }

    /// Ends the link once what is queued, and this, is written.
    pub(crate) fn close(&self, why: &str) {
        let mut state = self.lock();
        if self.has_ended().is_none()
            && self.closing.send_if_modified(|c| c.is_none() && c.replace(why.into()).is_none())
        {
            self.push(&mut state, wire::goodbye(why));
        }
    }

    /// Ends the link at once; everybody who waits is told why. The first reason counts.
    pub(crate) fn end(&self, why: String) {
        if !self.ended.send_if_modified(|e| e.is_none() && e.replace(why.clone()).is_none()) {
            return;
        }
        let mut state = self.lock();
        let waiting = state.waiting.drain();
        let serving = mem::take(&mut state.serving);
        state.queue = Queue::default();
        drop(state);
        for waiting in waiting {
            drop(waiting.send(Outcome::Lost(why.clone())));
        }
        serving.into_values().flatten().for_each(|task| task.abort());
    }

    /// Why the link ended, if it has.
    pub(crate) fn has_ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits until the link has ended, and says why.
    pub(crate) async fn ended(&self) -> String {
        let mut watch = self.ended.subscribe();
        let why = watch.wait_for(Option::is_some).await.ok().and_then(|w| w.clone());
        why.unwrap_or_default()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, state: &State) -> Result<(), NotSent> {
        if let Some(why) = self.has_ended() {
            return Err(NotSent::Ended(why));
        }
        if let Some(why) = &*self.closing.borrow() {
            return Err(NotSent::Ended(format!("the link to {} is closed on this side: {why}", self.peer)));
        }
        let (queue, limits) = (&state.queue, &self.limits);
        let full = |what: &str, limit: &str| {
            let why = format!("{what} wait to be written to {} (`PeerLimits::{limit}`)", self.peer);
            Err(NotSent::Full(why))
        };
        if queue.own >= limits.queued {
            return full(&format!("{} messages", queue.own), "queued");
        }
        // One message may be larger than the bound, since the queue may be empty but for it.
        if queue.bytes >= limits.held_bytes {
            return full(&format!("{} bytes", queue.bytes), "held_bytes");
        }
        Ok(())
    }

    fn push<'a>(&self, state: &'a mut State, frame: Frame) -> &'a mut Queue {
        let parts: usize = frame.parts.iter().map(Vec::len).sum();
        self.bulk.fetch_add(parts as u64, Ordering::Relaxed);
        state.queue.bytes += wire::weight(&frame);
        state.queue.frames.push(frame);
        self.to_write.notify_one();
        &mut state.queue
    }

    fn forget(&self, id: u64) {
        let mut state = self.lock();
        if state.waiting.take(id).is_some() {
            self.push(&mut state, wire::forget(id));
        }
    }
}

/// An answer that will come, or the news that it will not. Dropping it tells the far side that nobody waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    line: Arc<Line>,
    id: u64,
    receiver: Option<oneshot::Receiver<Outcome>>,
}

impl Future for Waiting {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let Some(receiver) = &mut self.receiver else { return Poll::Pending };
        let outcome = std::task::ready!(Pin::new(receiver).poll(context));
        self.receiver = None;
        // Whoever takes a sender out sends.
        Poll::Ready(outcome.unwrap_or(Outcome::Failure(Why::Dropped)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.receiver.is_some() {
            self.line.forget(self.id);
        }
    }
}
