//! A join or a gossip about to begin: its children, what they have between them, who keeps the books.

use super::across::Connect;
use super::assemble::{child, child_steps};
use super::gossip::gossip;
use super::{Across, JobError};
use crate::actors::{Group, JoinFacts, TakenUp};
use crate::backend::Backend;
use crate::centre::{Ledger, Residual, Shard, cut};
use crate::checkpoint::ChildMeta;
use crate::data::Dataset;
use crate::gossip::{Books, Mailbox, Pairs};
use crate::optimizer::Rule;
use crate::topology::Plan;
use dae_actor::PeerLimits;
use dae_collective::{Codec, Scale};
use dae_schedule::{Join, MItem, Optimizer, Outer};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The bytes of a message besides its numbers, at most.
const FIELDS: u64 = 128 << 10;

/// A join about to begin, as one node sees it: memory filled, nothing started.
pub(super) struct JoinParts {
    /// Those of its children that are on this node.
    pub(super) here: Vec<Local>,
    /// What they lie around, on the first node.
    pub(super) centre: Option<CentreParts>,
    /// The rank of each child's first worker.
    pub(super) first_ranks: Vec<usize>,
    /// What each shard of the centre holds.
    pub(super) slices: Vec<Range<usize>>,
    /// The nodes, if there are several.
    pub(super) away: Option<Away>,
}

/// A child on this node.
pub(super) struct Local {
    pub(super) index: usize,
    pub(super) group: Arc<Group>,
    /// Steps it has done.
    pub(super) steps: u64,
}

/// What the children of a join lie around, or peers of a gossip among.
pub(super) struct CentreParts {
    pub(super) facts: JoinFacts,
    pub(super) ledger: Books,
    pub(super) between: Between,
}

/// What they have between them.
pub(super) enum Between {
    /// The shards of a centre, and how children push to them.
    Shards(Vec<Shard>, Codec),
    /// A mailbox for each, and who meets whom where they wait for nobody.
    Mailboxes(Vec<Mailbox>, Option<Pairs>),
}

/// The nodes of a join with a child on each.
pub(super) struct Away {
    pub(super) names: Vec<String>,
    pub(super) connect: Connect,
    pub(super) limits: PeerLimits,
}

/// What a join goes on from.
pub(super) struct Standing<'a> {
    pub(super) at: TakenUp,
    /// How far its children are; empty if it begins.
    pub(super) children: &'a [ChildMeta],
    /// The centre's parameters.
    pub(super) params: &'a [f32],
    /// What [`Plan::buffers`] names; on another node than the first, those of its own child.
    pub(super) state: &'a [Vec<f32>],
}

impl JoinParts {
    /// A join or a gossip that goes on from there, with all children on this node or one on each.
    pub(super) fn new(
        plan: &Plan,
        hub: &MItem,
        backend: &Arc<dyn Backend>,
        dataset: &dyn Dataset,
        from: &Standing<'_>,
        across: Across,
    ) -> Result<Self, JobError> {
        let Across { node, names, connect, .. } = across;
        let apart = plan.apart();
        let own = if apart { node..node + 1 } else { 0..plan.children() };
        let group = |index: usize| {
            let stood = from.children.get(index);
            let steps = stood.map_or(0, |child| child.steps);
            let name = names.get(index).filter(|_| apart).map_or("", String::as_str);
            let states = plan.optimizer().map_or(0, |optimizer| Rule::new(optimizer).state_names().len());
            let (state, more) = from.state[plan.buffers_of(index)].split_at(states);
            let codec = plan.push_codec();
            let kept = more.first().filter(|_| codec.loses());
            let residual = kept.map(|kept| Residual::new(codec, kept.clone(), from.params.to_vec()));
            let stands = more.last().filter(|_| stood.is_some() && plan.stands_apart());
            let group = child(plan, backend.clone(), dataset, index, steps, residual, name);
            let state: Vec<&[f32]> = state.iter().map(Vec::as_slice).collect();
            let scale = stood.and_then(|child| child.scale).map_or(Scale::UNKNOWN, Scale::from_number);
            group.arena.load(steps, stands.map_or(from.params, Vec::as_slice), &state, scale)?;
            Ok(Local { index, group, steps })
        };
        let here = own.map(group).collect::<Result<_, JobError>>()?;
        let (workers, len) = (plan.workers() / plan.children(), from.params.len());
        let shards = plan.join().map_or(1, Join::parts);
        let away = connect.filter(|_| apart).map(|connect| {
            Ok(Away { names, connect, limits: limits(plan, shards, len)? }) as Result<_, JobError>
        });
        let samples = dataset.len();
        let centre = |_| match hub {
            MItem::Join(join) => Some(centre(plan, join, samples, from)),
            MItem::Gossip(peers) => Some(gossip(plan, peers, samples, from)),
            MItem::Every(_) => None,
        };
        Ok(Self {
            here,
            centre: (node == 0).then_some(()).and_then(centre),
            first_ranks: (0..plan.children()).map(|child| child * workers).collect(),
            slices: cut(len, shards as usize).collect(),
            away: away.transpose()?,
        })
    }
}

fn centre(plan: &Plan, join: &Join, samples: usize, from: &Standing<'_>) -> CentreParts {
    let Standing { at, children, params, state } = *from;
    let outer = &state[..Shard::rule(join).state_names().len()];
    let own: Vec<_> = match join.outer {
        // A child that has not begun stands where the centre does.
        Outer::Elastic(_) => (0..plan.children())
            .map(|child| match children.get(child) {
                Some(_) => state[plan.buffers_of(child)].last().map_or(params, Vec::as_slice),
                None => params,
            })
            .collect(),
        _ => vec![],
    };
    let shards = cut(params.len(), join.parts() as usize).map(|slice| {
        let outer = outer.iter().map(|buffer| buffer[slice.clone()].to_vec()).collect();
        let own = own.iter().map(|buffer| buffer[slice.clone()].to_vec()).collect();
        Shard::new(join, at.step, params[slice].to_vec(), outer, own)
    });
    CentreParts {
        between: Between::Shards(shards.collect(), plan.push_codec()),
        ledger: ledger(plan, join, samples, from),
        facts: facts(plan, samples, from),
    }
}

/// The books of a join, on a dataset of so many samples.
pub(super) fn ledger(plan: &Plan, join: &Join, samples: usize, from: &Standing<'_>) -> Books {
    let clocks = (0..plan.children()).map(|child| {
        let steps = from.children.get(child).map_or(0, |child| child.steps);
        (steps.div_ceil(plan.period()), steps >= child_steps(plan, samples, child))
    });
    let every = plan.topology().checkpoint.every;
    Books::Ledger(Ledger::new(join, from.at.step, clocks).pause_every(every))
}

/// What a join or a gossip goes by, on a dataset of so many samples.
pub(super) fn facts(plan: &Plan, samples: usize, from: &Standing<'_>) -> JoinFacts {
    let outer_rate = || plan.join().map_or(0.0, outer_rate);
    JoinFacts {
        steps_a_version: (plan.quorum() * plan.period()) as f64 / plan.children() as f64,
        horizon: plan.steps(samples),
        learning_rate: plan.learning_rate().clone(),
        base_rate: plan.optimizer().map_or_else(outer_rate, Optimizer::lr),
        outer: plan.optimizer().is_none(),
        samples: from.at.cursor,
        version: from.at.step,
        workers: plan.workers(),
        stall: Duration::from_secs(plan.topology().job.stall_timeout_s),
        turns: plan.turns(),
    }
}

/// What may be in flight between two nodes: all that a child has to say may wait at once, twice over.
fn limits(plan: &Plan, shards: u32, len: usize) -> Result<PeerLimits, JobError> {
    let limits = PeerLimits::default();
    let inner = plan.buffers_of(0).len() as u64;
    let (bytes, most) = (len as u64 * 4, limits.frame.total_bytes.saturating_sub(FIELDS));
    let longest = len.div_ceil(shards as usize);
    // Of `topk` each number that is pushed has its place with it, so it may be more than what is pulled.
    let pushed = plan.push_codec().encoded_len(longest) as u64;
    let shard = pushed.max(4 * longest as u64);
    if inner * bytes > most || shard > most {
        return Err(JobError::TooLargeToTravel { state: inner * bytes, shard, most });
    }
    let all = usize::try_from(2 * (inner * bytes + u64::from(shards) * shard) + FIELDS).unwrap_or(usize::MAX);
    Ok(PeerLimits { held_bytes: all.max(limits.held_bytes), ..limits })
}

/// The learning rate of an outer optimizer, for reports.
fn outer_rate(join: &Join) -> f32 {
    match join.outer {
        Outer::Avg => 1.0,
        Outer::Nesterov { lr, .. } | Outer::SlowMo { a: lr, .. } | Outer::Elastic(lr) => lr,
        Outer::Optimizer(optimizer) => optimizer.lr(),
    }
}
