//! The gradient worker: computes gradients and applies its slice of each step.

use super::close::{Close, Closed, Spoilt};
use super::feed::Batches;
use super::rounds::{Rounds, Unseated};
use super::told::Told;
use super::{
    DataLoader, Group, Kept, KeptBack, Lease, LeaseEnd, Linked, NonFinite, Recorder, Skipped, StepRecord,
};
use crate::backend::Replica;
use crate::data::Batch;
use dae_actor::{Actor, ActorRef, Context, Handler};
use dae_collective::{Broken, Commit, Contribution, Culprit, Doing, Means, Member, larger, peak};
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
    spoilt: Option<Spoilt>,
    rate: f32,
}

/// A run that skips so many steps one after the other ends: nothing will come of it any more.
const MOST_SKIPPED: u64 = 100;

/// Why a lease ended before its time.
enum Halt {
    Broken(Broken),
    Failed(String),
    NonFinite(NonFinite),
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
            let Linked { peers, kept } = group.links(self.local).ok_or_else(gone)?;
            member = member.across_by(peers, group.means.clone());
            if let (true, Means::Plain(algorithm)) = (group.parted, &group.means) {
                member = member.parted(*algorithm);
            }
            if let Some(KeptBack { own, thin }) = kept {
                member = member.keeping_back(&own, &thin);
            }
        }
        if group.skips {
            member = member.revocable();
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
        let (mut step, mut loss, mut copied, mut in_a_row) = (lease.first, None, None, 0);
        let mut hand = Vec::with_capacity(group.in_hand());
        let untold = &mut self.untold;
        if let Some(done) = untold.take().filter(|done| done.step == step) {
            loss = Some(done.commit.loss);
            told.skipped(done.spoilt.map(|spoilt| skipped(&group, step, spoilt)));
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
            let (closed, bad) = member.reduce(mine, |view| {
                let close = Close { group: &group, local: self.local, step: step + 1, rate, first };
                let (closed, applied) = close.apply(view)?;
                *untold = match closed {
                    Closed::Done(commit, spoilt) if applied.is_some() => {
                        Some(Untold { step: step + 1, commit, spoilt, rate })
                    }
                    _ => None,
                };
                Ok((closed, applied))
            })?;
            // Once more, of the same batches, where their terms did not fit their scale.
            let Closed::Done(commit, spoilt) = closed else { continue };
            hand.drain(..).try_for_each(|batch| batches.recycle(batch))?;
            in_a_row = if spoilt.is_some() { in_a_row + 1 } else { 0 };
            if !group.skips {
                stop_if_spoilt(step + 1, spoilt, 0)?;
            }
            finite(&mut member, step + 1, bad)?;
            // A copy of parameters whose own loss or gradient is not finite is not worth an older one's place: it waits
            // for a step that shows them to be good.
            if spoilt.is_none()
                && let Some((at, loss)) = copied.take()
            {
                let kept = told.anybody().then(|| member.take_snapshot(at)).flatten();
                let kept = kept.map(|snapshot| Kept::group(snapshot, &group));
                told.keep(kept, at, Some(loss));
            }
            step += 1;
            loss = Some(commit.loss);
            if commit.snapshot && member.copy_slice()? {
                copied = Some((step, commit.loss));
            } else if due {
                told.no_room(step);
            }
            *untold = None;
            told.skipped(spoilt.map(|spoilt| skipped(&group, step, spoilt)));
            told.step(record(&group, step, &commit, rate), commit.weight, commit.slowest.0);
            if in_a_row == MOST_SKIPPED {
                stop_if_spoilt(step, spoilt, in_a_row)?;
            }
            if let Some(rounds) = &mut rounds {
                rounds.step(&mut member, self.local, &commit, step)?;
            }
            if commit.stop {
                break;
            }
        }
        let snapshot = member.leave(step)?;
        Ok(LeaseEnd::Left { step, loss, snapshot, pace: told.pace() })
    }
}

/// Stops, with all others, at a step that nobody has applied, the last of so many that were skipped.
fn stop_if_spoilt(step: u64, spoilt: Option<Spoilt>, skipped: u64) -> Result<(), Halt> {
    let (what, culprit) = match spoilt {
        None => return Ok(()),
        Some(Spoilt::By(Culprit { rank, what, .. })) => (what, Some(rank)),
        Some(Spoilt::Sum) => ("gradient", None),
    };
    Err(Halt::NonFinite(NonFinite { step, what, culprit, skipped }))
}

/// Stops, with all others, on a step whose gradient was seen not to be finite while it was applied.
fn finite(member: &mut Member, step: u64, bad: Option<usize>) -> Result<(), Halt> {
    if bad.is_some() {
        // The slots still hold the step's gradients: whose was it? Where sums are free of order, each was finite, and it
        // is nobody's.
        let mine = !member.arena().is_exact() && member.slot().iter().any(|g| !g.is_finite());
        let culprit = member.first_to_say(mine).unwrap_or(mine.then_some(member.rank()));
        return Err(Halt::NonFinite(NonFinite { step, what: "gradient", culprit, skipped: 0 }));
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
            member.note(Doing::Data);
            hand.push(batches.next()?);
        }
        member.note(Doing::Gradient);
        let batch = &hand[at];
        if batch.rows > 0 {
            let first = mine.weight == 0.0;
            mine.loss += replica.gradient(member, batch, first || exact).map_err(|e| e.0)?;
            mine.weight += batch.rows as f64;
            if exact {
                see(&mut mine, member.fold(first), member);
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
    if group.skips && !exact {
        see(&mut mine, peak(member.slot()), member);
    }
    Ok(mine)
}

/// Notes the largest magnitude of what is in the slot, and where its first number lies that is not finite.
fn see(mine: &mut Contribution, peak: f32, member: &mut Member) {
    if !peak.is_finite() && mine.bad_at.is_none() {
        mine.bad_at = member.slot().iter().position(|g| !g.is_finite()).map(|at| at as u64);
    }
    mine.peak = larger(mine.peak, peak);
}

/// What there is to tell of a step that all skipped.
fn skipped(group: &Group, step: u64, spoilt: Spoilt) -> Skipped {
    let (rank, what, at) = match spoilt {
        Spoilt::By(Culprit { rank, what, at }) => (Some(rank), what, at),
        Spoilt::Sum => (None, "gradient", None),
    };
    let tensors = group.backend.layout().tensors();
    let tensor = at.and_then(|at| tensors.iter().find(|t| t.range().contains(&(at as usize))));
    Skipped {
        step,
        worker: rank.map(|rank| group.worker(rank)),
        what: what.into(),
        tensor: tensor.map(|t| t.name.clone()),
    }
}

/// What there is to tell of a step.
fn record(group: &Group, step: u64, commit: &Commit, rate: f32) -> StepRecord {
    StepRecord { step, loss: commit.loss, samples: group.cursor(step), lr: group.base_rate * rate }
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
            Err(Halt::NonFinite(end)) => LeaseEnd::NonFinite(end),
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
