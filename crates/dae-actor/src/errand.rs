//! A message of the far side, from its arrival until it is handled and answered.

use crate::body::Letter;
use crate::line::Line;
use crate::wire::{self, Why};
use crate::{Reply, Status, Stopped};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// What is owed for a message that came over a link: an answer if it was an ask, and its bytes to the link's bound.
/// Dropped without an answer, as with the mailbox of an actor that stops, it says so to the asker.
pub(crate) struct Errand {
    line: Arc<Line>,
    bytes: usize,
    asked: Option<Asked>,
    /// The actor it was handed to.
    pub(crate) to: Option<Arc<Status>>,
}

struct Asked {
    id: u64,
    until: Option<Instant>,
}

impl Errand {
    /// A message nobody waits for.
    pub(crate) fn told(line: &Arc<Line>, letter: &Letter) -> Self {
        Self::new(line, letter, None)
    }

    /// A message that is to be answered.
    pub(crate) fn asked(line: &Arc<Line>, letter: &Letter, id: u64, deadline: Duration) -> Self {
        // One beyond what clocks can count is none.
        Self::new(line, letter, Some(Asked { id, until: Instant::now().checked_add(deadline) }))
    }

    fn new(line: &Arc<Line>, letter: &Letter, asked: Option<Asked>) -> Self {
        let bytes = letter.body.len() + letter.parts.iter().map(Vec::len).sum::<usize>();
        line.held.fetch_add(bytes, Ordering::Relaxed);
        Self { line: line.clone(), bytes, asked, to: None }
    }

    /// Whether the bytes of messages that wait to be handled leave room for this one.
    pub(crate) fn has_room(&self) -> Result<(), String> {
        let before = self.line.held.load(Ordering::Relaxed) - self.bytes;
        let most = self.line.limits.held_bytes;
        if before < most {
            return Ok(());
        }
        Err(format!(
            "{before} bytes of your messages wait to be handled (`PeerLimits::held_bytes` is {most})"
        ))
    }

    /// Whether it is worth handling: told, or somebody still waits for the answer.
    pub(crate) fn is_wanted(&self) -> bool {
        let Some(asked) = &self.asked else { return true };
        asked.until.is_none_or(|until| Instant::now() < until)
            && self.line.lock().serving.contains_key(&asked.id)
    }

    /// Whether an answer is owed.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Answers.
    pub(crate) fn answer(mut self, letter: Letter) {
        let Some(Asked { id, .. }) = self.asked.take() else { return };
        let frame = wire::answer(id, letter);
        let frame = match wire::fits(&frame, &self.line.limits.frame) {
            Ok(()) => frame,
            Err(why) => wire::failure(id, Why::Refused(format!("its answer cannot travel: {why}"))),
        };
        self.line.answer(id, frame);
    }

    /// Answers when the reply is there, on the actor's thread.
    pub(crate) fn answer_later<T: 'static>(self, reply: Reply<T>, answer: fn(T, Self)) {
        let Some(Asked { id, .. }) = self.asked else { return };
        let line = self.line.clone();
        let task = actix::spawn(async move {
            match reply.wait().await {
                Ok(value) => answer(value, self),
                Err(crate::AskError::Dropped { .. }) => self.fail(Why::Dropped),
                Err(error) => self.fail(Why::Refused(error.to_string())),
            }
        });
        // The task is of this thread: it has not run yet.
        line.keep(id, task.abort_handle());
    }

    /// Says that there will be no answer; of a message that was told, that it is lost.
    pub(crate) fn fail(mut self, why: Why) {
        match self.asked.take() {
            Some(Asked { id, .. }) => self.line.answer(id, wire::failure(id, why)),
            // A panic on it is the actor's own news.
            None if matches!(why, Why::Panicked(_)) => {}
            None => self.line.lose(&why),
        }
    }

    /// Lets it go: nobody waits.
    pub(crate) fn give_up(mut self) {
        if let Some(Asked { id, .. }) = self.asked.take() {
            self.line.let_go(id);
        }
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        self.line.held.fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(Asked { id, .. }) = self.asked.take() {
            let stopped = self.to.as_ref().and_then(|status| status.stopped());
            let why = stopped.map_or(Why::Dropped, Why::Stopped);
            self.line.answer(id, wire::failure(id, why));
        }
    }
}

impl Line {
    /// Waits until one more ask may be in service, and enters it: until few enough are, and the far side has read
    /// enough of the answers. False if its number is in use, or the link has ended.
    pub(crate) async fn take_on(&self, id: u64) -> bool {
        loop {
            {
                let mut state = self.lock();
                // Looked at under the lock: whoever ends the link takes what is in service after it has said so.
                if self.has_ended().is_some() || state.serving.contains_key(&id) {
                    return false;
                }
                let few = state.serving.len() + state.unwritten < 2 * self.limits.in_flight;
                if few && state.queued_bytes() < self.limits.held_bytes {
                    state.serving.insert(id, None);
                    return true;
                }
                state.crowded = true;
            }
            self.room.notified().await;
        }
    }

    /// Keeps the task that will answer, to end it when nobody waits.
    pub(crate) fn keep(&self, id: u64, task: AbortHandle) {
        match self.lock().serving.get_mut(&id) {
            Some(kept) => *kept = Some(task),
            None => task.abort(),
        }
    }

    /// An ask is answered by nothing.
    pub(crate) fn let_go(&self, id: u64) {
        let task = self.lock().serving.remove(&id);
        if let Some(Some(task)) = task {
            task.abort();
        }
        self.make_room(0);
    }

    /// So many answers were written.
    pub(crate) fn make_room(&self, written: usize) {
        let mut state = self.lock();
        // The link may have ended meanwhile.
        state.unwritten = state.unwritten.saturating_sub(written);
        if std::mem::take(&mut state.crowded) {
            self.room.notify_one();
        }
    }

    /// A message that was told could not be handed over.
    pub(crate) fn lose(&self, why: &Why) {
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        // A flood of them is one line each time their number doubles.
        if lost.is_power_of_two() {
            tracing::warn!(peer = self.peer, lost, ?why, "a message that was told is lost");
        }
    }

    /// Tells the far side when an actor stops.
    pub(crate) fn watch(self: &Arc<Self>, id: u64, status: Arc<Status>) {
        let line = self.clone();
        let task = actix::spawn(async move {
            let why: Stopped = status.ended().await;
            line.answer(id, wire::stopped(id, why));
        });
        self.keep(id, task.abort_handle());
    }
}
