//! What a run's other actors hold of it.

use crate::actors::{AllReduceCoordinator, JoinCoordinator, Outpost, Stop};
use dae_actor::ActorRef;

/// Who decides over a run.
#[derive(Clone)]
pub(super) enum Head {
    /// Of one group.
    Group(ActorRef<AllReduceCoordinator>),
    /// Of a join.
    Join(ActorRef<JoinCoordinator>),
    /// Of a join whose centre is on another node.
    Outpost(ActorRef<Outpost>),
}

/// What a run's other actors hold of it.
#[derive(Clone)]
pub struct JobHandle(pub(super) Option<Head>);

impl JobHandle {
    /// A handle of no run, to make an actor with that is only looked at.
    pub fn detached() -> Self {
        Self(None)
    }

    /// Asks all workers to stop together after the step they are in, the children of a join or a gossip after their round; the state
    /// is saved, and the run can be resumed.
    pub fn stop(&self, why: impl Into<String>) {
        let stop = Stop { why: why.into() };
        let told = match &self.0 {
            None => return,
            Some(Head::Group(coordinator)) => coordinator.tell(stop),
            Some(Head::Join(coordinator)) => coordinator.tell(stop),
            Some(Head::Outpost(outpost)) => outpost.tell(stop),
        };
        if let Err(e) = told {
            tracing::warn!(cause = %e, "the request to stop was not taken");
        }
    }
}
