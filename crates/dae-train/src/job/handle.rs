//! What a run's other actors hold of it.

use crate::actors::{AllReduceCoordinator, Stop};
use dae_actor::ActorRef;

/// What a run's other actors hold of it.
#[derive(Clone)]
pub struct JobHandle(pub(super) ActorRef<AllReduceCoordinator>);

impl JobHandle {
    /// Asks all workers to stop together after the step they are in; the state is saved, and the run can be resumed.
    pub fn stop(&self, why: impl Into<String>) {
        if let Err(e) = self.0.tell(Stop { why: why.into() }) {
            tracing::warn!(cause = %e, "the request to stop was not taken");
        }
    }
}
