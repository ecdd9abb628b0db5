//! A join put together: its children, its shards, and who keeps the books.

use super::JobError;
use super::assemble::child;
use super::handle::Head;
use super::start::start_group;
use crate::actors::{
    Group, JoinChild, JoinCoordinator, JoinFacts, Lead, Note, ParameterServer, Recorder, Seat, TakenUp,
};
use crate::backend::Backend;
use crate::centre::{Ledger, Shard, cut};
use crate::checkpoint::ChildMeta;
use crate::data::{Dataset, Feeder};
use crate::topology::Plan;
use dae_actor::{ActorRef, Spawn, System};
use dae_collective::Scale;
use dae_schedule::{Join, Optimizer, Outer};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A join about to begin: memory filled, nothing started.
pub(super) struct JoinParts {
    join: Join,
    facts: JoinFacts,
    ledger: Ledger,
    children: Vec<Arc<Group>>,
    steps: Vec<u64>,
    shards: Vec<Shard>,
    len: usize,
}

/// What a join goes on from.
pub(super) struct Standing<'a> {
    pub(super) at: TakenUp,
    /// How far its children are; empty if it begins.
    pub(super) children: &'a [ChildMeta],
    /// The centre's parameters.
    pub(super) params: &'a [f32],
    /// What [`Plan::buffers`] names.
    pub(super) state: Vec<Vec<f32>>,
}

impl JoinParts {
    /// A join that goes on from there.
    pub(super) fn new(
        plan: &Plan,
        join: Join,
        backend: &Arc<dyn Backend>,
        dataset: &dyn Dataset,
        from: Standing<'_>,
    ) -> Result<Self, JobError> {
        let Standing { at, children: standing, params, state } = from;
        let rule = Shard::rule(&join);
        let mut buffers = state.into_iter();
        let outer: Vec<_> = buffers.by_ref().take(rule.state_names().len()).collect();
        let elastic = matches!(join.outer, Outer::Elastic(_));
        let (mut children, mut own, mut steps) = (vec![], vec![], vec![]);
        for index in 0..join.n as usize {
            let stood = standing.get(index);
            let done = stood.map_or(0, |child| child.steps);
            let group = child(plan, backend.clone(), dataset, index, done);
            let states = group.rule.map_or(0, |rule| rule.state_names().len());
            let inner: Vec<_> = buffers.by_ref().take(states).collect();
            let inner: Vec<&[f32]> = inner.iter().map(Vec::as_slice).collect();
            let scale = stood.and_then(|child| child.scale).map_or(Scale::UNKNOWN, Scale::from_number);
            group.arena.load(done, params, &inner, scale)?;
            if elastic {
                let stands = buffers.next().filter(|_| stood.is_some());
                own.push(stands.unwrap_or_else(|| params.to_vec()));
            }
            steps.push(done);
            children.push(group);
        }
        let shards = cut(params.len(), join.shards as usize).map(|slice| {
            let part = |all: &[Vec<f32>]| all.iter().map(|buffer| buffer[slice.clone()].to_vec()).collect();
            Shard::new(&join, at.step, params[slice.clone()].to_vec(), part(&outer), part(&own))
        });
        let shards: Vec<_> = shards.collect();
        let clocks: Vec<_> = children
            .iter()
            .zip(&steps)
            .map(|(group, steps)| (steps.div_ceil(plan.period()), *steps >= group.total_steps))
            .collect();
        let ledger = Ledger::new(&join, at.step, clocks).pause_every(plan.topology().checkpoint.every);
        let steps_a_version = f64::from(join.terms().k) * plan.period() as f64 / f64::from(join.n);
        let facts = JoinFacts {
            steps_a_version,
            horizon: plan.steps(dataset.len()),
            learning_rate: plan.learning_rate().clone(),
            base_rate: plan.optimizer().map_or_else(|| outer_rate(&join), Optimizer::lr),
            outer: plan.optimizer().is_none(),
            samples: at.cursor,
            version: at.step,
        };
        Ok(Self { join, facts, ledger, children, steps, shards, len: params.len() })
    }

    /// Starts all actors of the join.
    pub(super) fn start(self, system: &mut System, feeder: &Feeder, recorder: &ActorRef<Recorder>) -> Head {
        let Self { join, facts, ledger, children, steps, shards, len } = self;
        let (count, cuts) = (children.len(), shards.len());
        // A part of each shard, and whether to leave, or why all is over.
        let notes: Vec<(SyncSender<Note>, Receiver<Note>)> =
            (0..count).map(|_| sync_channel(cuts + 2)).collect();
        let senders: Vec<_> = notes.iter().map(|(sender, _)| sender.clone()).collect();
        let rounds: Vec<u64> = (0..count).map(|child| ledger.clock(child)).collect();
        let slices: Vec<_> = cut(len, join.shards as usize).collect();
        let servers: Vec<_> = shards
            .into_iter()
            .enumerate()
            .map(|(index, shard)| {
                let (mut shard, senders, rounds) = (Some(shard), senders.clone(), rounds.clone());
                // For each child a push and two tasks, and a few tasks of its own.
                let spawn = Spawn::named(format!("server {index}")).own_thread().mailbox(4 * count + 16);
                system.start(spawn, move || {
                    // No restart: what it held is gone with it.
                    let shard = shard.take().expect("a parameter server is made once");
                    ParameterServer::new(index, shard, senders.clone(), rounds.clone())
                })
            })
            .collect();
        let started: Vec<_> = children
            .iter()
            .zip(senders)
            .zip(&steps)
            .map(|((group, notes), steps)| {
                let coordinator = start_group(system, group, feeder, recorder, None, 0);
                JoinChild { group: group.clone(), coordinator, notes, steps: *steps }
            })
            .collect();
        let coordinator = {
            let (servers, recorder) = (servers.clone(), recorder.clone());
            let spawn = Spawn::named("join").own_thread().mailbox(4 * count + 16);
            system.start(spawn, move || {
                let (facts, ledger, children) = (facts.clone(), ledger.clone(), started.clone());
                JoinCoordinator::new(facts, ledger, children, servers.clone(), recorder.clone())
            })
        };
        for (group, (_, notes)) in children.iter().zip(notes) {
            let servers = slices.iter().cloned().zip(servers.iter().cloned()).collect();
            seat(group, Lead { notes, servers, coordinator: coordinator.clone(), followers: vec![] });
        }
        Head::Join(coordinator)
    }
}

/// Gives all ranks of a child their ends of the join.
fn seat(group: &Group, mut lead: Lead) {
    let Some(child) = &group.child else { return };
    for local in 1..group.arena.world() {
        let (follower, begun) = sync_channel(1);
        lead.followers.push(follower);
        child.seat(local, Seat::Follow(begun));
    }
    child.seat(0, Seat::Lead(lead));
}

/// The learning rate of an outer optimizer, for reports.
fn outer_rate(join: &Join) -> f32 {
    match join.outer {
        Outer::Avg => 1.0,
        Outer::Nesterov { lr, .. } | Outer::SlowMo { a: lr, .. } | Outer::Elastic(lr) => lr,
        Outer::Optimizer(optimizer) => optimizer.lr(),
    }
}
