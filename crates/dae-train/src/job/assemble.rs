//! From a plan to the parts of a run.

use super::Across;
use crate::actors::{Child, Group, KeptBack, Links, TakenUp};
use crate::backend::Backend;
use crate::centre::Residual;
use crate::data::{Corruption, CorruptionKind, Dataset, Feeder, Sampler, Shares};
use crate::optimizer::Rule;
use crate::topology::{Plan, Topology};
use dae_collective::{Arena, Means};
use dae_schedule::Optimizer;
use std::sync::Arc;
use std::time::Duration;

/// The facts its workers share, the memory among them.
pub(super) fn group(
    plan: &Plan,
    backend: Arc<dyn Backend>,
    dataset: &dyn Dataset,
    taken_up: TakenUp,
    means: Means,
    kept: Option<KeptBack>,
    mut across: Across,
) -> Arc<Group> {
    let local = plan.workers_per_node();
    // The first node's copies hold what all keep back.
    let keeps = if across.node == 0 { plan.kept_buffers().len() } else { 0 };
    let arena = arena(plan, &*backend, across.node * local, local, plan.workers() * plan.accum(), keeps);
    let links =
        |(rank, peers)| Links::new(peers, kept.as_ref().map(|kept| kept.slice(&arena.slice_of(rank))));
    let peers = std::mem::take(&mut across.peers).into_iter().enumerate().map(links).collect();
    let length = length(plan, dataset.len(), taken_up);
    Arc::new(Group { means, peers, ..facts(plan, backend, dataset, arena, taken_up, length, across) })
}

/// The same for a child of the join or the gossip that has done so many steps, on the node of this name if there are several,
/// and which keeps this back if its wire is lossy. The positions of a step are dealt over the workers of all children.
pub(super) fn child(
    plan: &Plan,
    backend: Arc<dyn Backend>,
    dataset: &dyn Dataset,
    index: usize,
    steps: u64,
    residual: Option<Residual>,
    node: &str,
) -> Arc<Group> {
    let local = plan.workers() / plan.children();
    let arena = arena(plan, &*backend, index * local, local, local * plan.accum(), 0);
    let (_, samples) = length(plan, dataset.len(), TakenUp::default());
    let own = child_steps(plan, dataset.len(), index);
    let slices: Vec<_> = (0..local).map(|rank| arena.slice_of(rank)).collect();
    let mut child = Child::new(index, plan.period(), steps, plan.optimizer().is_none(), &slices);
    // From one peer to another it is as many mixings as there are peers, at most.
    child.behind = if plan.gossip().is_some() { plan.children() as u64 } else { 1 };
    (child.turns, child.mix) = (plan.turns(), plan.join().map_or(0.0, |join| join.mix));
    if let Some(residual) = residual {
        child = child.keeping(residual);
    }
    let (taken_up, across) = (TakenUp::default(), Across { names: vec![node.into()], ..Across::alone() });
    let facts = facts(plan, backend, dataset, arena, taken_up, (own, samples), across);
    let horizon = plan.steps(dataset.len());
    // The join keeps the checkpoints.
    Arc::new(Group { child: Some(child), horizon, checkpoint_every: 0, ..facts })
}

/// The steps of a child of the join or the gossip: one that gets none of the last samples has a step less.
pub(super) fn child_steps(plan: &Plan, in_dataset: usize, index: usize) -> u64 {
    let (_, samples) = length(plan, in_dataset, TakenUp::default());
    let before = (index * plan.workers() / plan.children() * plan.accum() * plan.batch()) as u64;
    samples.saturating_sub(before).div_ceil(plan.global_batch() as u64)
}

/// Memory for the workers of one group on this node, the first of which is called `first`, with so many terms in a sum. Its
/// copies have so many further buffers.
fn arena(
    plan: &Plan,
    backend: &dyn Backend,
    first: usize,
    local: usize,
    terms: usize,
    keeps: usize,
) -> Arc<Arena> {
    let states = plan.optimizer().map_or(0, |optimizer| Rule::new(optimizer).state_names().len());
    let (len, stall) = (backend.layout().len(), Duration::from_secs(plan.topology().job.stall_timeout_s));
    match plan.exact() {
        true => Arena::exact(first, len, states, local, stall, terms),
        false => Arena::keeping(first, len, states, keeps, local, stall),
    }
}

/// What workers share, of one group in these steps and samples.
fn facts(
    plan: &Plan,
    backend: Arc<dyn Backend>,
    dataset: &dyn Dataset,
    arena: Arc<Arena>,
    taken_up: TakenUp,
    (total_steps, total_samples): (u64, u64),
    across: Across,
) -> Group {
    let topology = plan.topology();
    Group {
        arena,
        means: Means::default(),
        node: across.node,
        nodes: across.names,
        peers: vec![],
        rule: plan.optimizer().map(Rule::new),
        base_rate: plan.optimizer().map_or(0.0, Optimizer::lr),
        learning_rate: plan.learning_rate().clone(),
        clip: plan.clip(),
        parted: plan.parted(),
        skips: topology.job.skips(),
        shares: Shares { workers: plan.workers(), accum: plan.accum(), batch: plan.batch() },
        taken_up,
        total_samples,
        total_steps,
        horizon: total_steps,
        child: None,
        checkpoint_every: topology.checkpoint.every,
        prefetch: topology.data.prefetch as usize,
        features: dataset.features(),
        with_mask: topology.model.wants_mask(),
        stall: Duration::from_secs(topology.job.stall_timeout_s),
        pin: topology.placement.pin,
        backend,
    }
}

/// The steps and the samples of the whole run, one that goes on from here. A step that a shorter run had cut short, at
/// its end, stays as it was.
fn length(plan: &Plan, in_dataset: usize, from: TakenUp) -> (u64, u64) {
    let global = plan.global_batch() as u64;
    match plan.topology().job.epochs {
        Some(_) => {
            let samples = plan.total_samples(in_dataset);
            let ahead = samples.saturating_sub(from.cursor).div_ceil(global);
            (from.step.saturating_add(ahead).max(1), samples)
        }
        None => {
            let steps = plan.steps(in_dataset);
            let ahead = steps.saturating_sub(from.step).saturating_mul(global);
            (steps, from.cursor.saturating_add(ahead))
        }
    }
}

/// The samples of a run, in its order, corrupted as its topology says.
pub fn feeder(plan: &Plan, dataset: &Arc<dyn Dataset>) -> Feeder {
    let sampler = Sampler::new(plan.seed(), plan.samples(dataset.len()), plan.topology().data.shuffle);
    Feeder::new(dataset.clone(), sampler, corruption(plan.topology()), plan.seed())
}

/// The corruption a topology asks for.
pub fn corruption(topology: &Topology) -> Corruption {
    let section = &topology.data.corruption;
    let kind = match section.kind.as_str() {
        "masking" => CorruptionKind::Masking,
        "salt_and_pepper" => CorruptionKind::SaltAndPepper,
        "gaussian" => CorruptionKind::Gaussian,
        _ => CorruptionKind::None,
    };
    Corruption { kind, level: section.level as f32, fresh: section.fresh }
}
