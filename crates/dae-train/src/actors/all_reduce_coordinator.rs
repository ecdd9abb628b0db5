//! The all-reduce coordinator: forms the group, ends it, forms it anew after a failure.

use super::{GradientWorker, Group, Lease, LeaseEnd, Recorder};
use crate::actors::Note;
use dae_actor::{Actor, ActorRef, AskError, Context, Handler, Message, ReplyTo};
use dae_collective::{Broken, Snapshot};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Control only: it lets the workers run steps by themselves and comes in when they stop. Its decisions are functions
/// of what all workers said.
pub struct AllReduceCoordinator {
    group: Arc<Group>,
    workers: Vec<ActorRef<GradientWorker>>,
    recorder: ActorRef<Recorder>,
    restarts: u32,
    generation: u64,
    ends: Vec<Option<Result<LeaseEnd, AskError>>>,
    stop: Option<String>,
    done: Option<ReplyTo<End>>,
}

/// How training ended.
#[derive(Debug)]
pub enum Ended {
    /// All steps are done.
    Finished,
    /// Somebody asked to stop; who or why.
    Stopped(String),
    /// It could not go on; the first cause.
    Failed(String),
}

/// The end of training.
#[derive(Debug)]
pub struct End {
    /// How.
    pub how: Ended,
    /// The loss of the last committed step, where all workers left in order.
    pub loss: Option<f64>,
    /// The state as of the last committed step, where it can be trusted.
    pub snapshot: Option<Snapshot>,
    /// How often the group was formed anew.
    pub restarts: u64,
}

impl AllReduceCoordinator {
    /// A coordinator of these workers, rank 0 first, that forms the group anew at most `restarts` times.
    pub fn new(
        group: Arc<Group>,
        workers: Vec<ActorRef<GradientWorker>>,
        recorder: ActorRef<Recorder>,
        restarts: u32,
    ) -> Self {
        Self {
            group,
            workers,
            recorder,
            restarts,
            generation: 0,
            ends: Vec::new(),
            stop: None,
            done: None,
        }
    }

    fn form(&mut self, first: u64, context: &mut Context<'_, Self>) {
        self.generation += 1;
        self.ends = self.workers.iter().map(|_| None).collect();
        // Each step is bounded by the barrier, so a lease is bounded too; the bound only has to be finite.
        let steps = u32::try_from(self.group.total_steps - first)
            .unwrap_or(u32::MAX)
            .saturating_add(2);
        let deadline = self
            .group
            .stall
            .saturating_mul(steps)
            .min(Duration::from_secs(1 << 31));
        for (rank, worker) in self.workers.iter().enumerate() {
            let worker = worker.clone();
            let lease = async move { worker.ask(Lease { first }, deadline).await };
            context.spawn(lease, move |me, end, context| me.ended(rank, end, context));
        }
    }

    fn ended(&mut self, rank: usize, end: Result<LeaseEnd, AskError>, context: &mut Context<'_, Self>) {
        if !matches!(end, Ok(LeaseEnd::Left { .. } | LeaseEnd::NonFinite { .. })) {
            // A worker that never entered the barrier left nobody a sign; now there is one.
            let cause = cause(&end);
            self.group.arena.break_with(Broken::Left { rank, cause });
        }
        self.ends[rank] = Some(end);
        if self.ends.iter().all(Option::is_some) {
            let ends = std::mem::take(&mut self.ends).into_iter().flatten().collect();
            self.decide(ends, context);
        }
    }

    /// All workers have come back.
    fn decide(&mut self, mut ends: Vec<Result<LeaseEnd, AskError>>, context: &mut Context<'_, Self>) {
        if let Some(end) = ends
            .iter()
            .position(|e| matches!(e, Ok(LeaseEnd::Left { .. })))
            .map(|i| ends.swap_remove(i))
            && let Ok(LeaseEnd::Left {
                step,
                loss,
                mut snapshot,
            }) = end
        {
            for other in ends {
                if let Ok(LeaseEnd::Left {
                    snapshot: Some(s), ..
                }) = other
                {
                    snapshot = Some(s);
                }
            }
            let how = match self.stop.take() {
                Some(why) if step < self.group.total_steps => Ended::Stopped(why),
                _ => Ended::Finished,
            };
            return self.end(how, loss, snapshot);
        }
        let bad: Vec<_> = ends
            .iter()
            .filter_map(|e| match e {
                Ok(LeaseEnd::NonFinite { step, what, mine }) => Some((*step, what, *mine)),
                _ => None,
            })
            .collect();
        if let Some((step, what, _)) = bad.iter().find(|b| b.2).or(bad.first()) {
            let cause = format!(
                "{what} was not a finite number in step {step}; all workers stopped there. The last checkpoint is \
                 from before it: try a smaller learning rate, clip=1.0 after the optimizer, or look at the data"
            );
            return self.end(Ended::Failed(cause), None, None);
        }
        self.recover(&ends, context);
    }

    /// Somebody failed: form the group anew where it stood, if that is allowed and possible.
    fn recover(&mut self, ends: &[Result<LeaseEnd, AskError>], context: &mut Context<'_, Self>) {
        let first_cause = ends
            .iter()
            .enumerate()
            // Who was merely told of the failure is not its cause.
            .find(|(_, e)| !matches!(e, Ok(LeaseEnd::Broken(Broken::Left { .. }))))
            .or(ends.iter().enumerate().next())
            .map_or_else(String::new, |(rank, e)| format!("worker {rank}: {}", cause(e)));
        if let Some(why) = self.stop.take() {
            return self.end(
                Ended::Failed(format!("{first_cause} (while stopping: {why})")),
                None,
                None,
            );
        }
        if self.generation > u64::from(self.restarts) {
            let tries = if self.restarts > 0 {
                format!(
                    "; the group had been formed anew {} times (job.restarts)",
                    self.restarts
                )
            } else {
                String::new()
            };
            return self.end(Ended::Failed(format!("{first_cause}{tries}")), None, None);
        }
        let committed = match self
            .group
            .arena
            .reopen()
            .and_then(|()| self.group.arena.committed())
        {
            Ok(step) => step,
            Err(e) => return self.end(Ended::Failed(format!("{first_cause}; {e}")), None, None),
        };
        tracing::warn!(step = committed, cause = first_cause, "the group is formed anew");
        let note = json!({"type": "restarted", "step": committed, "cause": first_cause});
        drop(self.recorder.tell(Note(note)));
        self.form(committed, context);
    }

    fn end(&mut self, how: Ended, loss: Option<f64>, snapshot: Option<Snapshot>) {
        if let Some(done) = self.done.take() {
            done.send(End {
                how,
                loss,
                snapshot,
                restarts: self.generation.saturating_sub(1),
            });
        }
    }
}

fn cause(end: &Result<LeaseEnd, AskError>) -> String {
    match end {
        Ok(LeaseEnd::Failed(cause)) => cause.clone(),
        Ok(LeaseEnd::Broken(broken)) => broken.to_string(),
        Ok(_) => "it left".into(),
        Err(AskError::Panicked { cause, .. }) => cause.clone(),
        Err(e) => e.to_string(),
    }
}

impl Actor for AllReduceCoordinator {
    const KIND: &'static str = "all-reduce-coordinator";
}

/// Trains from `first` committed steps on, to the end of the run.
pub struct Train {
    /// Steps committed before.
    pub first: u64,
    /// Told how it ended.
    pub done: ReplyTo<End>,
}

impl Message for Train {
    type Reply = ();
}

impl Handler<Train> for AllReduceCoordinator {
    fn handle(&mut self, train: Train, context: &mut Context<'_, Self>) {
        self.done = Some(train.done);
        self.form(train.first, context);
    }
}

/// Asks all workers to stop together after the step they are in.
pub struct Stop {
    /// Who asks, or why.
    pub why: String,
}

impl Message for Stop {
    type Reply = ();
}

impl Handler<Stop> for AllReduceCoordinator {
    fn handle(&mut self, stop: Stop, _: &mut Context<'_, Self>) {
        self.stop.get_or_insert(stop.why);
        self.group.arena.request_stop();
    }
}
