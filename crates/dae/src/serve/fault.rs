//! Why a part of a job failed.

use crate::exit::Failure;
use dae_cluster::protocol::hosts::{HostSpot, Outcome};
use dae_collective::Broken;
use dae_train::job::JobError;

/// Why a part of a job failed, and the host whose loss it was, where this one only felt that.
pub(super) struct Fault {
    pub(super) failure: Failure,
    blames: Option<u32>,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self { failure, blames: None }
    }
}

impl Fault {
    /// One that the loss of a node, if any, brought about.
    pub(super) fn felt(failure: Failure, lost: Option<&str>, hosts: &[HostSpot]) -> Self {
        let index = lost.and_then(|lost| hosts.iter().position(|host| host.node == lost));
        Self { failure, blames: index.and_then(|index| u32::try_from(index).ok()) }
    }

    /// Of a run that could not be put together or brought to its end.
    pub(super) fn of(error: JobError, hosts: &[HostSpot]) -> Self {
        let lost = match &error {
            JobError::Lost(Broken::Node { node, .. }) => Some(node.clone()),
            _ => None,
        };
        Self::felt(Failure::failed(error), lost.as_deref(), hosts)
    }

    /// As the daemon is told.
    pub(super) fn outcome(&self) -> Outcome {
        let Failure { exit, report } = &self.failure;
        Outcome::Failed { cause: report.to_string(), code: *exit as u8, blames: self.blames }.plain()
    }
}
