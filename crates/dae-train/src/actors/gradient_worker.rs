//! The gradient worker: computes gradients and applies its slice of each step.

use super::feed::Batches;
use super::rounds::{Rounds, Unseated};
use super::told::Told;
use super::{DataLoader, Group, Kept, Lease, LeaseEnd, Recorder, StepRecord};
use crate::backend::Replica;
use crate::data::Batch;
use crate::optimizer::sum_of_squares;
use dae_actor::{Actor, ActorRef, Context, Handler};
use dae_collective::{
    Apply, Broken, Commit, Contribution, Culprit, Member, exact_sum_of_squares, larger, unit_of_squares,
};
use std::sync::Arc;
use std::time::Instant;

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

impl From<Unseated> for Halt {
    fn from(unseated: Unseated) -> Self {
        match unseated {
            Unseated::Broken(broken) => Self::Broken(broken),
            Unseated::Failed(cause) => Self::Failed(cause),
        }
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
        let mut rounds = match &group.child {
            None => None,
            Some(child) => {
                let gone = || "its end of the join went with the lease that had it".to_owned();
                Some(Rounds::new(child.take_seat(self.local).ok_or_else(gone)?, &group, child))
            }
        };
        self.leases += 1;
        let batches = Batches::begin(&self.loader, &group, self.leases, lease.first)?;
        let replica = match &mut self.replica {
            Some(replica) => replica,
            none => none.insert(group.backend.replica(&member).map_err(|e| e.to_string())?),
        };
        let mut told = Told::new(self.recorder.clone(), group.world(), lease.first);
        let (mut step, mut loss, mut copied) = (lease.first, None, None);
        let mut hand = Vec::with_capacity(group.in_hand());
        let untold = &mut self.untold;
        if let Some(done) = untold.take().filter(|done| done.step == step) {
            loss = Some(done.commit.loss);
            told.step(
                record(&group, step, &done.commit, done.rate),
                done.commit.weight,
                done.commit.slowest.0,
            );
        }
        while step < group.total_steps {
            if let Some(rounds) = &mut rounds
                && !rounds.begin(&mut member, self.local, step)?
            {
                break;
            }
            let start = Instant::now();
            let mut mine = gradient(&mut **replica, &mut member, &batches, &mut hand, &group)?;
            let due = member.rank() == 0 && group.checkpoint_due(step + 1);
            mine.snapshot = due && copied.is_none() && member.snapshot_free();
            mine.stop = member.stop_requested();
            mine.compute_s = start.elapsed().as_secs_f64();
            let rate = group.learning_rate.factor(step, group.horizon);
            let first = rounds.as_ref().is_some_and(Rounds::first);
            let (commit, bad) = member.reduce(mine, |view| {
                let close = Close { group: &group, local: self.local, step: step + 1, rate, first };
                let (commit, applied) = apply(view, &close)?;
                *untold = applied.and(commit).map(|commit| Untold { step: step + 1, commit, rate });
                Ok((commit, applied))
            })?;
            // Once more, of the same batches, where their terms did not fit their scale.
            let Some(commit) = commit else { continue };
            hand.drain(..).try_for_each(|batch| batches.recycle(batch))?;
            // A copy of parameters whose own loss or gradient is not finite is not worth an older one's place.
            finite(&mut member, step + 1, &commit, bad)?;
            if let Some((at, loss)) = copied.take() {
                let kept = told.anybody().then(|| member.take_snapshot(at)).flatten();
                let kept = kept.map(|snapshot| Kept::group(snapshot, &group));
                told.keep(kept, at, Some(loss));
            }
            step += 1;
            loss = Some(commit.loss);
            if commit.snapshot && group.node == 0 && member.copy_slice() {
                copied = Some((step, commit.loss));
            } else if due {
                told.no_room(step);
            }
            *untold = None;
            told.step(record(&group, step, &commit, rate), commit.weight, commit.slowest.0);
            if let Some(rounds) = &mut rounds {
                rounds.step(&member, &commit, step)?;
            }
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
        // The slots still hold the step's gradients: whose was it? Where sums are free of order, each was finite, and it
        // is nobody's.
        let mine = !member.arena().is_exact() && member.slot().iter().any(|g| !g.is_finite());
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

/// What there is to tell of a step.
fn record(group: &Group, step: u64, commit: &Commit, rate: f32) -> StepRecord {
    StepRecord { step, loss: commit.loss, samples: group.cursor(step), lr: group.base_rate * rate }
}

/// What a step is closed with.
struct Close<'a> {
    group: &'a Group,
    /// Which of this node's workers does it.
    local: usize,
    /// The step, counted from 1.
    step: u64,
    /// What the learning rate is multiplied by.
    rate: f32,
    /// Whether it is the first of a round.
    first: bool,
}

/// What every rank does to its slice, decided alike by all; no commit where the step's terms have to be given again.
fn apply(view: &mut Apply<'_>, close: &Close<'_>) -> Result<(Option<Commit>, Option<bool>), Broken> {
    let group = close.group;
    let commit = Commit::decide(view.contributions);
    if view.again {
        return Ok((None, None));
    }
    if commit.culprit.is_some() || commit.weight == 0.0 {
        return Ok((Some(commit), None));
    }
    let scale = (1.0 / commit.weight) as f32;
    let mut bound = 1.0;
    if let Some(clip) = group.clip {
        let norm = norm(view, group, scale)?;
        // As torch.nn.utils.clip_grad_norm_ does.
        bound = (f64::from(clip) / (norm + 1e-6)).min(1.0) as f32;
    }
    let Apply { params, state, grads, .. } = view;
    let finite = match (&group.rule, &group.child) {
        (Some(rule), _) => rule.apply(close.step, close.rate, scale * bound, params, state, grads),
        (None, child) => {
            // `step raw` moves no parameters: gradients come together, to be pushed at the end of the round.
            let raw = child.as_ref().and_then(|child| child.raw(close.local));
            raw.is_none_or(|mut sum| gather(grads, bound, close.first, &mut sum))
        }
    };
    Ok((Some(commit), Some(finite)))
}

/// Adds the sum over slots, in rank order, times `bound` to what has come together, or begins with it. Whether it is
/// finite.
fn gather(grads: &[&[f32]], bound: f32, first: bool, into: &mut [f32]) -> bool {
    let Some((own, others)) = grads.split_first() else { return true };
    let mut finite = true;
    for (at, (into, g)) in into.iter_mut().zip(*own).enumerate() {
        let sum = others.iter().fold(*g, |sum, slot| sum + slot[at]) * bound;
        finite &= sum.is_finite();
        *into = if first { sum } else { *into + sum };
    }
    finite
}

/// The norm of the whole gradient times `scale`.
fn norm(view: &mut Apply<'_>, group: &Group, scale: f32) -> Result<f64, Broken> {
    if group.arena.is_exact() {
        let peak = view.contributions.iter().fold(0.0, |peak, c| larger(peak, c.peak));
        let terms = (group.arena.world() * group.nodes.len() * group.shares.accum) as f64;
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

impl Actor for GradientWorker {
    const KIND: &'static str = "gradient-worker";

    fn started(&mut self, _: &mut Context<'_, Self>) {
        if self.group.pin {
            // The children of a join follow each other, where they are on one node.
            let with = self.group.child.as_ref().filter(|_| self.group.nodes[..] == [""]);
            let before = with.map_or(0, |child| child.index * self.group.arena.world());
            pin(before + self.local);
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
