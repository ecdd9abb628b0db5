//! What a run's other actors hold of it.

use crate::actors::{AllReduceCoordinator, Stop};
use dae_actor::ActorRef;

/// What a run's other actors hold of it.
#[derive(Clone)]
pub struct JobHandle(pub(super) Option<ActorRef<AllReduceCoordinator>>);

impl JobHandle {
    /// A handle of no run, to make an actor with that is only looked at.
    pub fn detached() -> Self {
        Self(None)
    }

    /// Asks all workers to stop together after the step they are in; the state is saved, and the run can be resumed.
    pub fn stop(&self, why: impl Into<String>) {
        let Some(coordinator) = &self.0 else { return };
        if let Err(e) = coordinator.tell(Stop { why: why.into() }) {
            tracing::warn!(cause = %e, "the request to stop was not taken");
        }
    }
}
