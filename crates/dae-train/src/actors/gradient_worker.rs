//! The gradient worker: computes gradients and applies its slice of each step.

use super::feed::Batches;
use super::{Committed, DataLoader, Group, Keep, Lease, LeaseEnd, Pace, Recorder, StepRecord};
use crate::backend::Replica;
use crate::data::Batch;
use crate::optimizer::sum_of_squares;
use dae_actor::{Actor, ActorRef, Context, Handler, TellError};
use dae_collective::{
    Apply, Broken, Commit, Contribution, Culprit, Member, exact_sum_of_squares, larger, unit_of_squares,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often committed steps are told.
const TELL_EVERY: Duration = Duration::from_millis(50);
/// Steps at the start of a lease that its pace leaves out.
const WARM_UP: u64 = 10;

/// One rank of the group, on a thread of its own.
pub struct GradientWorker {
    /// Among the workers of this node.
    local: usize,
    group: Arc<Group>,
    loader: ActorRef<DataLoader>,
    /// Whom the first of a node tells what all ranks know.
    recorder: Option<ActorRef<Recorder>>,
    replica: Option<Box<dyn Replica>>,
    leases: u64,
    untold: Option<Untold>,
}

/// A step that this rank has applied and not told. If the group broke before it knew that all had applied it, and they
/// had, the next lease begins with it done.
#[derive(Clone, Copy)]
struct Untold {
    step: u64,
    commit: Commit,
    rate: f32,
}

/// Why a lease ended before its time.
enum Halt {
    Broken(Broken),
    Failed(String),
    NonFinite { step: u64, what: &'static str, culprit: Option<usize> },
}

impl From<Broken> for Halt {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<String> for Halt {
    fn from(cause: String) -> Self {
        Self::Failed(cause)
    }
}

impl GradientWorker {
    /// This node's worker of that number, fed by `loader`. The first tells `recorder` of the steps that all have
    /// committed.
    pub fn new(
        local: usize,
        group: Arc<Group>,
        loader: ActorRef<DataLoader>,
        recorder: Option<ActorRef<Recorder>>,
    ) -> Self {
        Self { local, group, loader, recorder, replica: None, leases: 0, untold: None }
    }

    fn run(&mut self, lease: Lease) -> Result<LeaseEnd, Halt> {
        let group = self.group.clone();
        let mut member = group.arena.join(self.local).map_err(|e| e.to_string())?;
        if group.across() {
            let gone = || "its links to other nodes went with the group they were of".to_owned();
            member = member.across_by(group.links(self.local).ok_or_else(gone)?, group.means.clone());
        }
        self.leases += 1;
        let batches = Batches::begin(&self.loader, &group, self.leases, lease.first)?;
        let replica = match &mut self.replica {
            Some(replica) => replica,
            none => none.insert(group.backend.replica(&member).map_err(|e| e.to_string())?),
        };
        let mut told = Told::new(self.recorder.as_ref(), &group, lease.first);
        let (mut step, mut loss, mut copied) = (lease.first, None, None);
        let mut hand = Vec::with_capacity(group.in_hand());
        let untold = &mut self.untold;
        if let Some(done) = untold.take().filter(|done| done.step == step) {
            loss = Some(done.commit.loss);
            told.step(step, &done.commit, group.base_rate * done.rate);
        }
        while step < group.total_steps {
            let start = Instant::now();
            let mut mine = gradient(&mut **replica, &mut member, &batches, &mut hand, &group)?;
            let due = member.rank() == 0 && group.checkpoint_due(step + 1);
            mine.snapshot = due && copied.is_none() && member.snapshot_free();
            mine.stop = member.stop_requested();
            mine.compute_s = start.elapsed().as_secs_f64();
            let rate = group.learning_rate.factor(step, group.total_steps);
            let (commit, bad) = member.reduce(mine, |view| {
                let (commit, applied) = apply(view, &group, step + 1, rate)?;
                *untold = applied.and(commit).map(|commit| Untold { step: step + 1, commit, rate });
                Ok((commit, applied))
            })?;
            // Once more, of the same batches, where their terms did not fit their scale.
            let Some(commit) = commit else { continue };
            hand.drain(..).try_for_each(|batch| batches.recycle(batch))?;
            // A copy of parameters whose own loss or gradient is not finite is not worth an older one's place.
            finite(&mut member, step + 1, &commit, bad)?;
            if let Some((at, loss)) = copied.take() {
                told.copied(&mut member, at, loss);
            }
            step += 1;
            loss = Some(commit.loss);
            if commit.snapshot && group.node == 0 && member.copy_slice() {
                copied = Some((step, commit.loss));
            } else if due {
                told.no_room(step);
            }
            *untold = None;
            told.step(step, &commit, group.base_rate * rate);
            if commit.stop {
                break;
            }
        }
        let snapshot = member.leave(step)?;
        Ok(LeaseEnd::Left { step, loss, snapshot, pace: told.pace() })
    }
}

/// Stops, with all others, on a step that was not finite.
fn finite(member: &mut Member, step: u64, commit: &Commit, bad: Option<usize>) -> Result<(), Halt> {
    if let Some(Culprit { rank, what }) = commit.culprit {
        return Err(Halt::NonFinite { step, what, culprit: Some(rank) });
    }
    if bad.is_some() {
        // The slots still hold the step's gradients: whose was it?
        let mine = member.slot().iter().any(|g| !g.is_finite());
        let culprit = member.first_to_say(mine).unwrap_or(mine.then_some(member.rank()));
        return Err(Halt::NonFinite { step, what: "gradient", culprit });
    }
    Ok(())
}

/// This rank's part of a step: the gradient's sum into the slot, its weight and loss. Where sums are order-free, each
/// micro-batch is a term, and the batches stay in `hand`; what is there already is given once more.
fn gradient(
    replica: &mut dyn Replica,
    member: &mut Member,
    batches: &Batches<'_>,
    hand: &mut Vec<Batch>,
    group: &Group,
) -> Result<Contribution, Halt> {
    let (mut mine, exact) = (Contribution::default(), group.arena.is_exact());
    for micro in 0..group.shares.accum {
        let at = if exact { micro } else { 0 };
        if hand.len() == at {
            hand.push(batches.next()?);
        }
        let batch = &hand[at];
        if batch.rows > 0 {
            let first = mine.weight == 0.0;
            mine.loss += replica.gradient(member, batch, first || exact).map_err(|e| e.0)?;
            mine.weight += batch.rows as f64;
            if exact {
                mine.peak = larger(mine.peak, member.fold(first));
            }
        }
        if !exact {
            hand.drain(..).try_for_each(|batch| batches.recycle(batch))?;
        }
    }
    if mine.weight == 0.0 {
        member.slot().fill(0.0);
        if exact {
            member.fold(true);
        }
    }
    Ok(mine)
}

/// What every rank does to its slice, decided alike by all; no commit where the step's terms have to be given again.
fn apply(
    view: &mut Apply<'_>,
    group: &Group,
    step: u64,
    rate: f32,
) -> Result<(Option<Commit>, Option<bool>), Broken> {
    let commit = Commit::decide(view.contributions);
    if view.again {
        return Ok((None, None));
    }
    if commit.culprit.is_some() || commit.weight == 0.0 {
        return Ok((Some(commit), None));
    }
    let mut scale = (1.0 / commit.weight) as f32;
    if let Some(clip) = group.clip {
        let norm = norm(view, group, scale)?;
        // As torch.nn.utils.clip_grad_norm_ does.
        scale *= (f64::from(clip) / (norm + 1e-6)).min(1.0) as f32;
    }
    let Apply { params, state, grads, .. } = view;
    let finite = group.rule.apply(step, rate, scale, params, state, grads);
    Ok((Some(commit), Some(finite)))
}

/// The norm of the whole gradient times `scale`.
fn norm(view: &mut Apply<'_>, group: &Group, scale: f32) -> Result<f64, Broken> {
    if group.arena.is_exact() {
        let peak = view.contributions.iter().fold(0.0, |peak, c| larger(peak, c.peak));
        let terms = (group.shares.workers * group.shares.accum) as f64;
        let unit = unit_of_squares(f64::from(peak) * terms * f64::from(scale), group.arena.len());
        let mine = view.grads.iter().map(|sum| exact_sum_of_squares(sum, scale, unit)).sum();
        return Ok((view.sum_exact(mine)? as f64 * 2_f64.powi(-unit)).sqrt());
    }
    let mine = match &view.grads[..] {
        // One worker's, or what all nodes have summed up: stretch by stretch, as so many workers would.
        [sum] => view.stretches().map(|stretch| sum_of_squares(&[&sum[stretch]], scale)).sum(),
        grads => sum_of_squares(grads, scale),
    };
    Ok(view.sum(mine)?.sqrt())
}

/// What the first of a node has to tell, gathered for a few milliseconds.
struct Told<'a> {
    recorder: Option<&'a ActorRef<Recorder>>,
    group: &'a Group,
    steps: Vec<StepRecord>,
    slowest: Vec<u64>,
    last: Instant,
    /// Steps and time since the start, the first few steps left out: they pay for what later ones find ready.
    warm: u64,
    since: Option<Instant>,
    counted: u64,
    latest: Instant,
}

impl<'a> Told<'a> {
    fn new(recorder: Option<&'a ActorRef<Recorder>>, group: &'a Group, first: u64) -> Self {
        let (slowest, now) = (vec![0; group.world()], Instant::now());
        let warm = first + WARM_UP;
        Self {
            recorder,
            group,
            steps: vec![],
            slowest,
            last: now,
            warm,
            since: None,
            counted: 0,
            latest: now,
        }
    }

    fn step(&mut self, step: u64, commit: &Commit, lr: f32) {
        if self.recorder.is_none() {
            return;
        }
        self.latest = Instant::now();
        match self.since {
            None if step >= self.warm => self.since = Some(self.latest),
            None => {}
            Some(_) => self.counted += commit.weight as u64,
        }
        self.slowest[commit.slowest.0] += 1;
        self.steps.push(StepRecord { step, loss: commit.loss, samples: self.group.cursor(step), lr });
        if self.latest - self.last >= TELL_EVERY && !self.behind() {
            self.rest();
        }
    }

    /// Whether the recorder is still at an earlier lot, perhaps since a listener is slow. Then steps are gathered: a
    /// backlog of lots would have to be worked off, listener by listener, before the run could end.
    fn behind(&self) -> bool {
        self.recorder.is_some_and(|r| r.status().depth() > 0)
    }

    fn pace(&self) -> Option<Pace> {
        let seconds = (self.latest - self.since?).as_secs_f64();
        (self.counted > 0).then_some(Pace { samples: self.counted, seconds })
    }

    /// Tells what was gathered. A recorder that cannot keep up gets it with the next lot; the lots are bounded by the
    /// steps of the run.
    fn rest(&mut self) {
        let Some(recorder) = self.recorder else { return };
        self.last = self.latest;
        if self.steps.is_empty() {
            return;
        }
        let none = vec![0; self.slowest.len()];
        let slowest = std::mem::replace(&mut self.slowest, none);
        let lot = Committed { steps: std::mem::take(&mut self.steps), slowest };
        if let Err(TellError::Full(lot)) = recorder.tell(lot) {
            (self.steps, self.slowest) = (lot.steps, lot.slowest);
        }
    }

    /// A copy that all ranks have finished goes to the checkpointer.
    fn copied(&mut self, member: &mut Member, step: u64, loss: f64) {
        let Some(recorder) = self.recorder else { return };
        self.rest();
        let Some(snapshot) = member.take_snapshot(step) else {
            return tracing::warn!(step, "no checkpoint: not every worker had room for its part of the copy");
        };
        // A recorder that has gone, or is behind, costs a checkpoint and no step.
        if let Err(e) = recorder.tell(Keep { snapshot, loss: Some(loss) }) {
            tracing::warn!(step, cause = %e, "no checkpoint");
        }
    }

    fn no_room(&self, step: u64) {
        if self.recorder.is_some() {
            tracing::warn!(
                step,
                "no checkpoint: the one before is still being written; raise checkpoint.every"
            );
        }
    }
}

impl Drop for Told<'_> {
    /// However a lease ends, by a panic too, what was committed is told.
    fn drop(&mut self) {
        self.rest();
        if !self.steps.is_empty() {
            tracing::error!(
                steps = self.steps.len(),
                "the recorder is full: committed steps miss from its log"
            );
        }
    }
}

impl Actor for GradientWorker {
    const KIND: &'static str = "gradient-worker";

    fn started(&mut self, _: &mut Context<'_, Self>) {
        if self.group.pin {
            pin(self.local);
        }
    }
}

impl Handler<Lease> for GradientWorker {
    fn handle(&mut self, lease: Lease, _: &mut Context<'_, Self>) -> LeaseEnd {
        match self.run(lease) {
            Ok(end) => end,
            Err(Halt::Broken(broken)) => LeaseEnd::Broken(broken),
            Err(Halt::Failed(cause)) => LeaseEnd::Failed(cause),
            Err(Halt::NonFinite { step, what, culprit }) => LeaseEnd::NonFinite { step, what, culprit },
        }
    }
}

/// Keeps the current thread on one core; where the system refuses, it stays where it is.
fn pin(core: usize) {
    let Some(core) = core_affinity::get_core_ids().and_then(|ids| ids.get(core).copied()) else {
        return;
    };
    if !core_affinity::set_for_current(core) {
        tracing::warn!(core = core.id, "this thread could not be pinned to its core");
    }
}
