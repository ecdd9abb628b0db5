//! The all-reduce coordinator: forms the group, ends it, forms it anew after a failure.

use super::stall::{Stall, StallWatch};
use super::{GradientWorker, Group, Kept, Lease, LeaseEnd, NonFinite, Pace, Recorder};
use crate::centre::Tally;
use crate::run_folder::Event;
use dae_actor::{Actor, ActorRef, AskError, Body, Context, Handler, Message, ReplyTo};
use dae_collective::Broken;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often to look whether a step takes long.
const LOOK: Duration = Duration::from_millis(500);

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
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// Steps that count: all ranks have committed them, and their numbers were finite.
    pub step: u64,
    /// The loss of the last committed step, where all workers left in order.
    pub loss: Option<f64>,
    /// The state as of the last committed step, where it can be trusted.
    pub snapshot: Option<Kept>,
    /// How fast the last lease went.
    pub pace: Option<Pace>,
    /// How often the group was formed anew.
    pub restarts: u64,
    /// The node whose loss is the cause, where that is all that is known here. It may know more itself.
    pub lost: Option<String>,
    /// How stale what a join's children pushed was.
    pub tally: Option<Tally>,
}

impl End {
    /// A failure after so many steps, of which no more is known.
    pub(super) fn failed(step: u64, cause: String) -> Self {
        let how = Ended::Failed(cause);
        Self { how, step, loss: None, snapshot: None, pace: None, restarts: 0, lost: None, tally: None }
    }
}

impl AllReduceCoordinator {
    /// A coordinator of these workers, the first of the node first, that forms the group anew at most `restarts` times.
    pub fn new(
        group: Arc<Group>,
        workers: Vec<ActorRef<GradientWorker>>,
        recorder: ActorRef<Recorder>,
        restarts: u32,
    ) -> Self {
        Self { group, workers, recorder, restarts, generation: 0, ends: Vec::new(), stop: None, done: None }
    }

    fn form(&mut self, first: u64, context: &mut Context<'_, Self>) {
        self.generation += 1;
        self.ends = self.workers.iter().map(|_| None).collect();
        // Each step is bounded by the barrier, so a lease is bounded too; the bound only has to be finite.
        let steps =
            u32::try_from(self.group.total_steps.saturating_sub(first)).unwrap_or(u32::MAX).saturating_add(2);
        let deadline = self.group.patience().saturating_mul(steps).min(Duration::from_secs(1 << 31));
        for (rank, worker) in self.workers.iter().enumerate() {
            let worker = worker.clone();
            let lease = async move { worker.ask(Lease { first }, deadline).await };
            context.spawn(lease, move |me, end, context| me.ended(rank, end, context));
        }
        self.watch(false, context);
        let begun = Instant::now();
        let watch = StallWatch::new(self.group.stall, Duration::ZERO, self.group.progress().0);
        self.look(begun, watch, context);
    }

    /// Looks every half a second whether a step takes longer than is normal, long before that ends the run.
    fn look(&self, begun: Instant, mut watch: StallWatch, context: &mut Context<'_, Self>) {
        let generation = self.generation;
        let next = tokio::time::Instant::now() + LOOK;
        context.spawn(tokio::time::sleep_until(next), move |me, (), context| {
            if me.generation != generation || me.done.is_none() {
                return;
            }
            let ((progress, rests), arena) = (me.group.progress(), &me.group.arena);
            let stall = watch.look(begun.elapsed(), progress, rests, &arena.look(), &arena.node_names());
            if let Some(Stall { waited, what }) = stall {
                let (step, waited_s) = (arena.committed_by_all(), waited.as_secs_f64());
                tracing::warn!(
                    "step {} takes long: nothing was committed for {waited_s:.1} s; {what}",
                    step + 1
                );
                if let Err(e) = me.recorder.tell(Event::Stalled { step, waited_s, what }) {
                    tracing::warn!(cause = %e, "a stall misses from the log");
                }
            }
            me.look(begun, watch, context);
        });
    }

    /// Looks again, once a step may take no longer, whether one was committed. `told`: the group was broken when
    /// somebody looked before.
    fn watch(&self, told: bool, context: &mut Context<'_, Self>) {
        let (generation, (seen, _)) = (self.generation, self.group.progress());
        let deadline = tokio::time::Instant::now() + self.group.patience();
        context.spawn(tokio::time::sleep_until(deadline), move |me, (), context| {
            if me.generation == generation && me.done.is_some() {
                me.overdue(seen, told, context);
            }
        });
    }

    /// The barrier notices who is late to it; this notices when nobody comes, or somebody never comes back.
    fn overdue(&mut self, seen: u64, told: bool, context: &mut Context<'_, Self>) {
        let arena = &self.group.arena;
        let first = self.group.first_rank();
        let out = |local: &usize| self.ends[*local].is_none();
        let missing: Vec<_> = (0..self.ends.len()).filter(out).map(|local| first + local).collect();
        let (progress, resting) = self.group.progress();
        match (arena.broken(), missing.first()) {
            (None, _) if resting => self.watch(false, context),
            _ if progress != seen => self.watch(false, context),
            (None, Some(rank)) => {
                // Whoever waits is not to blame.
                let cause = arena.stalled().unwrap_or_else(|| {
                    let stall = self.group.patience();
                    let doing = arena.doing();
                    let cause =
                        format!("no step was committed within {stall:?} (job.stall_timeout_s): {doing}");
                    Broken::Left { rank: *rank, cause }
                });
                arena.break_with(cause);
                self.watch(true, context);
            }
            // It broke since somebody looked last, perhaps just now.
            (Some(_), Some(_)) if !told => self.watch(true, context),
            // It was told, and did not come back: its own code holds it.
            (Some(broken), Some(_)) => {
                let stall = self.group.patience();
                self.fail(format!(
                    "{broken}; workers {missing:?} did not come back within another {stall:?}"
                ));
            }
            (_, None) => {}
        }
    }

    fn ended(&mut self, rank: usize, end: Result<LeaseEnd, AskError>, context: &mut Context<'_, Self>) {
        if !matches!(end, Ok(LeaseEnd::Left { .. } | LeaseEnd::NonFinite(_))) {
            // A worker that never entered the barrier left nobody a sign; now there is one.
            let cause = cause(&end);
            self.group.arena.break_with(Broken::Left { rank: self.group.first_rank() + rank, cause });
        }
        self.ends[rank] = Some(end);
        if self.ends.iter().all(Option::is_some) {
            let ends = std::mem::take(&mut self.ends).into_iter().flatten().collect();
            self.decide(ends, context);
        }
    }

    /// All workers of this node have come back, the first first.
    fn decide(&mut self, mut ends: Vec<Result<LeaseEnd, AskError>>, context: &mut Context<'_, Self>) {
        let left = |e: &Result<LeaseEnd, AskError>| matches!(e, Ok(LeaseEnd::Left { .. }));
        if ends.iter().all(left) {
            // All leave together or none does; the first brings the state along.
            if let Ok(LeaseEnd::Left { step, loss, snapshot, pace }) = ends.swap_remove(0) {
                let how = match self.stop.take() {
                    _ if step >= self.group.total_steps => Ended::Finished,
                    Some(why) => Ended::Stopped(why),
                    None => Ended::Stopped("another node was asked to".into()),
                };
                let restarts = self.generation - 1;
                let snapshot = snapshot.map(|snapshot| Kept::group(snapshot, &self.group));
                self.end(End { how, step, loss, snapshot, pace, restarts, lost: None, tally: None });
            }
            return;
        }
        match self.not_finite(&ends) {
            Some((step, cause)) => self.fail_at(step, cause, None),
            None => self.recover(&ends, context),
        }
    }

    /// Somebody failed: form the group anew where it stood, if that is allowed and possible.
    fn recover(&mut self, ends: &[Result<LeaseEnd, AskError>], context: &mut Context<'_, Self>) {
        // Who was merely told of a failure is not its cause.
        let told = |e: &Result<LeaseEnd, AskError>| matches!(e, Ok(LeaseEnd::Broken(Broken::Left { .. })));
        let lost = |e: &Result<LeaseEnd, AskError>| match e {
            Ok(LeaseEnd::Broken(Broken::Node { node, .. })) => Some(node.clone()),
            _ => None,
        };
        let own = ends.iter().position(|e| !told(e) && lost(e).is_none());
        let (lost, rank) = match (own, ends.iter().position(|e| lost(e).is_some())) {
            (None, Some(rank)) => (lost(&ends[rank]), rank),
            (own, _) => (None, own.unwrap_or(0)),
        };
        let first_cause = match lost {
            Some(_) => cause(&ends[rank]),
            None => format!("{}: {}", self.group.worker(self.group.first_rank() + rank), cause(&ends[rank])),
        };
        if let Some(why) = self.stop.take() {
            return self.fail(format!("{first_cause} (while stopping: {why})"));
        }
        if self.group.across() {
            // One node alone cannot: the others may be at another step, and their links are gone.
            let cause = format!("{first_cause}; go on from the last checkpoint with --resume");
            return self.fail_at(self.group.arena.committed_by_all(), cause, lost);
        }
        if self.group.child.is_some() {
            // What a round has come to lives with its workers, and the others of the join wait for it.
            return self.fail(format!("{first_cause}; go on from the last checkpoint with --resume"));
        }
        if self.generation > u64::from(self.restarts) {
            let tries = self.restarts;
            return self
                .fail(format!("{first_cause}; the group had been formed anew {tries} times (job.restarts)"));
        }
        let arena = &self.group.arena;
        let committed = match arena.reopen().and_then(|()| arena.committed()) {
            Ok(step) => step,
            Err(e) => return self.fail(format!("{first_cause}; {e}")),
        };
        tracing::warn!(step = committed, cause = first_cause, "the group is formed anew");
        let event = Event::Restarted { step: committed, cause: first_cause };
        if let Err(e) = self.recorder.tell(event) {
            tracing::warn!(cause = %e, "a restart misses from the log");
        }
        self.form(committed, context);
    }

    /// The steps that count, if the numbers of one were not finite, and the sentence for it.
    fn not_finite(&self, ends: &[Result<LeaseEnd, AskError>]) -> Option<(u64, String)> {
        let bad = ends.iter().filter_map(|e| match e {
            Ok(LeaseEnd::NonFinite(end)) => Some(*end),
            _ => None,
        });
        // The first worker whose own numbers were bad, if there is one.
        let NonFinite { step, what, culprit, skipped } =
            bad.min_by_key(|end| end.culprit.unwrap_or(usize::MAX))?;
        let whose = match culprit {
            Some(rank) => format!("the {what} of {}", self.group.worker(rank)),
            None => format!("the sum of the {what}s"),
        };
        let stopped = match skipped {
            0 => "all workers stopped there. A checkpoint, where there is one, is from before it".to_owned(),
            _ => format!(
                "it was the last of {skipped} in a row that were skipped for such numbers (job.on_nonfinite), and more \
                 are not. A checkpoint, where there is one, is from before them"
            ),
        };
        let cause = format!(
            "{whose} was not a finite number in step {step}; {stopped}. Begin anew with a smaller learning rate, or with \
             clip=1.0 after the optimizer, or look at the data"
        );
        // Where it may be applied in part, it does not count; one that was skipped does.
        Some((if skipped > 0 { step } else { step - 1 }, cause))
    }

    fn fail(&mut self, cause: String) {
        self.fail_at(self.group.arena.committed_by_all(), cause, None);
    }

    fn fail_at(&mut self, step: u64, cause: String, lost: Option<String>) {
        let restarts = self.generation - 1;
        self.end(End { restarts, lost, ..End::failed(step, cause) });
    }

    fn end(&mut self, end: End) {
        if let Some(done) = self.done.take() {
            done.send(end);
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
#[derive(Debug, Serialize, Deserialize)]
pub struct Stop {
    /// Who asks, or why.
    pub why: String,
}

impl Message for Stop {
    type Reply = ();
}

impl Body for Stop {}

impl Handler<Stop> for AllReduceCoordinator {
    fn handle(&mut self, stop: Stop, _: &mut Context<'_, Self>) {
        self.stop.get_or_insert(stop.why);
        self.group.arena.request_stop();
    }
}
