//! The recorder: the log of events, and who else wants to hear of committed steps.

use super::{Alive, Checkpointer, Committed, Kept, Save, Skipped};
use crate::board::Board;
use crate::run_folder::{DiskError, Event, EventLog};
use dae_actor::{Actor, ActorRef, AskError, Context, Handler, Message, ReplyTo};
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any disk should take for one checkpoint.
const SAVED_BY: Duration = Duration::from_secs(600);

/// Somebody who is told of committed steps; returns false once it wants no more.
pub type Listener = Box<dyn FnMut(&Committed) -> bool + Send>;

/// Keeps the log of the run, on a thread of its own.
pub struct Recorder {
    /// None where another node keeps it.
    log: Option<EventLog>,
    board: Arc<Board>,
    checkpointer: Option<ActorRef<Checkpointer>>,
    listeners: Vec<Listener>,
    /// The last committed step: a run's steps follow each other, and this is where that is asserted.
    step: u64,
    broken: Option<String>,
    /// Steps that were skipped.
    skipped: u64,
    /// Checkpoints on their way to the disk.
    saving: usize,
    /// Who waits until all is there.
    waiting: Option<ReplyTo<Result<(), String>>>,
}

impl Recorder {
    /// A recorder that goes on after `step` committed steps. Where another node keeps log and checkpoints, it has
    /// neither, and tells those who listen here.
    pub fn new(
        log: Option<EventLog>,
        board: Arc<Board>,
        checkpointer: Option<ActorRef<Checkpointer>>,
        step: u64,
    ) -> Self {
        let (listeners, broken, waiting) = (Vec::new(), None, None);
        Self { log, board, checkpointer, listeners, step, broken, skipped: 0, saving: 0, waiting }
    }

    fn write(&mut self, event: &impl Serialize) {
        self.at_log(|log| log.append(event));
    }

    fn at_log(&mut self, work: impl FnOnce(&mut EventLog) -> Result<(), DiskError>) {
        let done = self.log.as_mut().map_or(Ok(()), work);
        self.check(done);
    }

    /// A log that cannot be written costs the log, not the training; it is told once.
    fn check(&mut self, written: Result<(), DiskError>) {
        if let Err(e) = written {
            self.fail(e.to_string());
        }
    }

    fn fail(&mut self, cause: String) {
        if self.broken.is_none() {
            tracing::error!(cause, "the log of events cannot be written; training goes on");
            self.broken = Some(cause);
        }
    }

    /// Writes it down; on the terminal with ever more silence between, for there may be many.
    fn skipped(&mut self, skipped: &Skipped) {
        let Skipped { step, worker, what, tensor } = skipped.clone();
        self.skipped += 1;
        if self.skipped.is_power_of_two() {
            let (whose, tensor) = (worker.as_deref().unwrap_or("the sum"), tensor.as_deref());
            tracing::warn!(
                step,
                whose,
                tensor,
                skipped = self.skipped,
                "the {what} was not finite: the step is skipped"
            );
        }
        self.write(&Event::Skipped { step, worker, what, tensor });
    }

    fn flush(&mut self) {
        self.at_log(EventLog::flush);
    }
}

impl Actor for Recorder {
    const KIND: &'static str = "recorder";
}

impl Message for Event {
    type Reply = ();
}

impl Handler<Committed> for Recorder {
    fn handle(&mut self, committed: Committed, _: &mut Context<'_, Self>) {
        let mut skipped = committed.skipped.iter().peekable();
        let mut taken = committed.taken.iter().peekable();
        for r in &committed.steps {
            // What went into an update, and what was dropped before it, stand before it.
            while let Some(push) = taken.next_if(|push| push.applied.is_none_or(|made| made <= r.step)) {
                self.write(&Event::Push(*push));
            }
            if r.step != self.step + 1 {
                self.fail(format!("step {} followed step {}", r.step, self.step));
            }
            self.step = r.step;
            self.write(&Event::Step { step: r.step, loss: r.loss, samples: r.samples, lr: r.lr });
            if let Some(skipped) = skipped.next_if(|skipped| skipped.step == r.step) {
                self.skipped(skipped);
            }
        }
        taken.for_each(|push| self.write(&Event::Push(*push)));
        self.flush();
        self.board.post(&committed);
        self.listeners.retain_mut(|listener| told(listener, &committed));
    }
}

/// Tells a listener; whether it wants more. A panic is its own and not the log's: it is left out from then on.
fn told(listener: &mut Listener, committed: &Committed) -> bool {
    catch_unwind(AssertUnwindSafe(|| listener(committed))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let cause = text.unwrap_or("a panic without a message");
        tracing::error!(cause, "a listener panicked, and is told no more; training goes on");
        false
    })
}

/// Answered once what was told before is written, and passed on.
impl Handler<Alive> for Recorder {
    fn handle(&mut self, _: Alive, _: &mut Context<'_, Self>) {}
}

impl Handler<Event> for Recorder {
    fn handle(&mut self, event: Event, _: &mut Context<'_, Self>) {
        self.write(&event);
        self.flush();
    }
}

/// Adds somebody to be told of committed steps.
pub struct Listen(pub Listener);

impl Message for Listen {
    type Reply = ();
}

impl Handler<Listen> for Recorder {
    fn handle(&mut self, Listen(listener): Listen, _: &mut Context<'_, Self>) {
        self.listeners.push(listener);
    }
}

/// Has a snapshot written, once the disk has every step up to it: a run that is resumed from it finds its log whole.
pub struct Keep {
    /// The state.
    pub kept: Kept,
    /// The loss of its last step.
    pub loss: Option<f64>,
}

impl Message for Keep {
    type Reply = ();
}

impl Handler<Keep> for Recorder {
    fn handle(&mut self, keep: Keep, context: &mut Context<'_, Self>) {
        let Some(checkpointer) = self.checkpointer.clone() else { return };
        self.at_log(EventLog::sync);
        let Keep { kept, loss } = keep;
        let step = kept.step();
        self.saving += 1;
        let saved = async move { checkpointer.ask(Save { kept, loss }, SAVED_BY).await };
        context.spawn(saved, move |me, saved, _| {
            me.saving -= 1;
            me.saved(step, saved);
            me.settle();
        });
    }
}

impl Recorder {
    fn saved(&mut self, step: u64, saved: Result<<Save as Message>::Reply, AskError>) {
        let cause = match saved {
            Ok(Ok(path)) => return self.write(&Event::Checkpoint { step, path: path.display().to_string() }),
            Ok(Err(e)) => e.to_string(),
            Err(e) => e.to_string(),
        };
        tracing::error!(step, cause, "the checkpoint could not be written; training goes on");
        self.write(&Event::CheckpointFailed { step, cause });
    }

    /// Answers who waits, once nothing is on its way to the disk any more.
    fn settle(&mut self) {
        if self.saving > 0 {
            return;
        }
        if let Some(waiting) = self.waiting.take() {
            self.at_log(EventLog::sync);
            waiting.send(self.broken.clone().map_or(Ok(()), Err));
        }
    }
}

/// Brings the log to the disk, and waits for the checkpoints that are on their way there. It is answered with what went
/// wrong with the log, if anything did.
pub struct Sync(pub ReplyTo<Result<(), String>>);

impl Message for Sync {
    type Reply = ();
}

impl Handler<Sync> for Recorder {
    fn handle(&mut self, Sync(waiting): Sync, _: &mut Context<'_, Self>) {
        self.waiting = Some(waiting);
        self.settle();
    }
}
