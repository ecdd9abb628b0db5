//! From a plan to the parts of a run.

use super::Across;
use crate::actors::{Group, Links, TakenUp};
use crate::backend::Backend;
use crate::data::{Corruption, CorruptionKind, Dataset, Feeder, Sampler, Shares};
use crate::optimizer::Rule;
use crate::topology::{Plan, Topology};
use dae_collective::{Arena, Means};
use std::sync::Arc;
use std::time::Duration;

/// The facts its workers share, the memory among them.
pub(super) fn group(
    plan: &Plan,
    backend: Arc<dyn Backend>,
    dataset: &dyn Dataset,
    taken_up: TakenUp,
    means: Means,
    across: Across,
) -> Arc<Group> {
    let topology = plan.topology();
    let (total_steps, total_samples) = length(plan, dataset.len(), taken_up);
    let rule = Rule::new(plan.optimizer());
    let stall = Duration::from_secs(topology.job.stall_timeout_s);
    let (states, local, len) = (rule.state_names().len(), plan.workers_per_node(), backend.layout().len());
    let first = across.node * local;
    let arena = match plan.exact() {
        true => Arena::exact(first, len, states, local, stall, plan.workers() * plan.accum()),
        false => Arena::on_node(first, len, states, local, stall),
    };
    Arc::new(Group {
        arena,
        means,
        node: across.node,
        nodes: across.names,
        peers: across.peers.into_iter().map(Links::new).collect(),
        rule,
        base_rate: plan.optimizer().lr(),
        learning_rate: plan.learning_rate().clone(),
        clip: plan.clip(),
        shares: Shares { workers: plan.workers(), accum: plan.accum(), batch: plan.batch() },
        taken_up,
        total_samples,
        total_steps,
        checkpoint_every: topology.checkpoint.every,
        prefetch: topology.data.prefetch as usize,
        features: dataset.features(),
        with_mask: topology.model.wants_mask(),
        stall,
        pin: topology.placement.pin,
        backend,
    })
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
