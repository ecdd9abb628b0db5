//! The actors of one group of workers.

use crate::actors::{AllReduceCoordinator, DataLoader, GradientWorker, Group, Recorder};
use crate::data::Feeder;
use dae_actor::{ActorRef, Restart, Spawn, System};
use std::sync::Arc;

/// Starts loaders, workers and the coordinator of a group, and returns that. The group is formed anew at most `restarts` times. The first worker
/// tells `listener` of its steps.
pub(super) fn start_group(
    system: &mut System,
    group: &Arc<Group>,
    feeder: &Feeder,
    recorder: &ActorRef<Recorder>,
    listener: Option<&ActorRef<Recorder>>,
    restarts: u32,
) -> ActorRef<AllReduceCoordinator> {
    let workers = start_workers(system, group, feeder, listener, restarts);
    let (group, recorder) = (group.clone(), recorder.clone());
    let name = match &group.child {
        Some(child) => format!("coordinator {}", child.index),
        None => "coordinator".into(),
    };
    system.start(Spawn::named(name), move || {
        AllReduceCoordinator::new(group.clone(), workers.clone(), recorder.clone(), restarts)
    })
}

fn start_workers(
    system: &mut System,
    group: &Arc<Group>,
    feeder: &Feeder,
    listener: Option<&ActorRef<Recorder>>,
    restarts: u32,
) -> Vec<ActorRef<GradientWorker>> {
    (0..group.arena.world())
        .map(|local| {
            let rank = group.first_rank() + local;
            let restart = Restart::at_most(restarts);
            // Room for every buffer of this feed and of the one before, and for the message that begins it.
            let spawn = Spawn::named(format!("loader {rank}"))
                .own_thread()
                .restart(restart)
                .mailbox(2 * (group.prefetch + group.in_hand() + 1));
            let (feeder, all) = (feeder.clone(), group.clone());
            let loader = system.start(spawn, move || DataLoader::new(rank, feeder.clone(), all.clone()));
            let spawn = Spawn::named(format!("worker {rank}")).own_thread().restart(restart);
            let (group, listener) = (group.clone(), listener.filter(|_| local == 0).cloned());
            system.start(spawn, move || {
                GradientWorker::new(local, group.clone(), loader.clone(), listener.clone())
            })
        })
        .collect()
}
