//! The recorder: the log of events, and who else wants to hear of committed steps.

use super::Committed;
use crate::board::Board;
use crate::run_folder::EventLog;
use dae_actor::{Actor, Context, Handler, Message};
use serde_json::{Value, json};
use std::sync::Arc;

/// Somebody who is told of committed steps; returns false once it wants no more.
pub type Listener = Box<dyn FnMut(&Committed) -> bool + Send>;

/// Keeps the log of the run, on a thread of its own.
pub struct Recorder {
    log: EventLog,
    board: Arc<Board>,
    listeners: Vec<Listener>,
    /// The last committed step: a run's steps follow each other, and this is where that is asserted.
    step: u64,
    broken: Option<String>,
}

impl Recorder {
    /// A recorder that goes on after `step` committed steps.
    pub fn new(log: EventLog, board: Arc<Board>, listeners: Vec<Listener>, step: u64) -> Self {
        Self { log, board, listeners, step, broken: None }
    }

    fn write(&mut self, event: &Value) {
        if let Err(e) = self.log.append(event) {
            self.fail(&e.to_string());
        }
    }

    /// A log that cannot be written costs the log, not the training; it is told once.
    fn fail(&mut self, cause: &str) {
        if self.broken.is_none() {
            tracing::error!(cause, "the log of events cannot be written; training goes on");
            self.broken = Some(cause.into());
        }
    }
}

impl Actor for Recorder {
    const KIND: &'static str = "recorder";
}

impl Handler<Committed> for Recorder {
    fn handle(&mut self, committed: Committed, _: &mut Context<'_, Self>) {
        for record in &committed.steps {
            if record.step != self.step + 1 {
                self.fail(&format!("step {} followed step {}", record.step, self.step));
            }
            self.step = record.step;
            let StepEvent(event) = StepEvent::of(record);
            self.write(&event);
        }
        self.board.post(&committed);
        self.listeners.retain_mut(|listener| listener(&committed));
    }
}

struct StepEvent(Value);

impl StepEvent {
    fn of(record: &super::StepRecord) -> Self {
        let mut event = json!({"type": "step"});
        if let (Value::Object(event), Ok(Value::Object(fields))) = (&mut event, serde_json::to_value(record)) {
            event.extend(fields);
        }
        Self(event)
    }
}

/// An event of another kind: an object with a `type`.
pub struct Note(pub Value);

impl Message for Note {
    type Reply = ();
}

impl Handler<Note> for Recorder {
    fn handle(&mut self, Note(event): Note, _: &mut Context<'_, Self>) {
        self.write(&event);
        self.flush();
    }
}

impl Recorder {
    fn flush(&mut self) {
        if let Err(e) = self.log.flush() {
            self.fail(&e.to_string());
        }
    }
}

/// Brings the log to the disk. Answers with what went wrong with it, if anything did.
pub struct Sync;

impl Message for Sync {
    type Reply = Result<(), String>;
}

impl Handler<Sync> for Recorder {
    fn handle(&mut self, _: Sync, _: &mut Context<'_, Self>) -> Result<(), String> {
        self.flush();
        self.broken.clone().map_or(Ok(()), Err)
    }
}
