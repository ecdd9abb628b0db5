//! What a host has to say to its job's home, until it is sent: bounded, the oldest lines go first.

use crate::protocol::hosts::{Enlist, Outcome, Progress};
use std::cell::RefCell;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Lines kept.
const LINES: usize = 2_000;
/// Bytes of lines kept.
const BYTES: usize = 512 << 10;
/// Bytes of lines in one message.
const BATCH: usize = 32 << 10;

/// What a host has to say.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: RefCell<State>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    bytes: usize,
    said: Said,
}

/// A batch of it.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) batch: u64,
    pub(crate) lines: Vec<String>,
    pub(crate) dropped: u64,
    pub(crate) enlisted: Option<Enlist>,
    pub(crate) progress: Option<Progress>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) exited: Option<String>,
}

impl Outbox {
    /// It wrote a line.
    pub(crate) fn line(&self, line: String) {
        let mut state = self.state.borrow_mut();
        state.bytes += line.len();
        state.lines.push_back(line);
        while state.lines.len() > LINES || state.bytes > BYTES {
            let Some(oldest) = state.lines.pop_front() else { break };
            state.bytes -= oldest.len();
            state.said.dropped += 1;
        }
        self.filled.notify_one();
    }

    /// Something else happened.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Said)) {
        note(&mut self.state.borrow_mut().said);
        self.filled.notify_one();
    }

    /// Waits until there is something.
    pub(crate) async fn filled(&self) {
        while self.is_empty() {
            self.filled.notified().await;
        }
    }

    fn is_empty(&self) -> bool {
        let State { lines, said, .. } = &*self.state.borrow();
        let Said { dropped, enlisted, progress, outcome, exited, .. } = said;
        lines.is_empty()
            && *dropped == 0
            && enlisted.is_none()
            && progress.is_none()
            && outcome.is_none()
            && exited.is_none()
    }

    /// Takes what one message holds; how it ended comes after its last line.
    pub(crate) fn take(&self, batch: u64) -> Said {
        let mut state = self.state.borrow_mut();
        let mut lines = Vec::new();
        let mut room = BATCH;
        while let Some(line) = state.lines.front()
            && let Some(left) = room.checked_sub(line.len() + 8)
        {
            room = left;
            state.bytes -= line.len();
            lines.extend(state.lines.pop_front());
        }
        let rest = !state.lines.is_empty();
        let mut said = std::mem::take(&mut state.said);
        if rest {
            state.said.outcome = said.outcome.take();
            state.said.exited = said.exited.take();
        }
        Said { batch, lines, ..said }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_comes_after_the_last_line() {
        let outbox = Outbox::default();
        for _ in 0..100 {
            outbox.line("x".repeat(1_000));
        }
        outbox.note(|said| said.exited = Some("ended".into()));
        let mut lines = 0;
        for batch in 1.. {
            let said = outbox.take(batch);
            assert!(said.lines.iter().map(String::len).sum::<usize>() <= BATCH && said.batch == batch);
            lines += said.lines.len();
            if said.exited.is_some() {
                break;
            }
        }
        assert_eq!(lines, 100);
        assert!(outbox.is_empty());
    }

    #[test]
    fn the_oldest_lines_go_and_are_counted() {
        let outbox = Outbox::default();
        for i in 0..LINES + 7 {
            outbox.line(i.to_string());
        }
        let said = outbox.take(1);
        assert_eq!((said.dropped, said.lines[0].as_str()), (7, "7"));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn somebody_who_waits_is_told() {
        let outbox = Outbox::default();
        let ((), ()) =
            tokio::join!(outbox.filled(), async { outbox.note(|said| said.outcome = Some(Outcome::Done)) });
        assert_eq!(outbox.take(1).outcome, Some(Outcome::Done));
    }
}
