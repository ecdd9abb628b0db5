//! Asking a daemon on this machine.

use std::future::Future;

use dae_actor::System;
use dae_cluster::client::{Client, ClientError, JobError};

use crate::cluster_args::DaemonArgs;
use crate::exit::Failure;
use dae_train::exit::Exit;

/// Connects to the daemon and does `what` with it.
pub fn daemon<T, F: Future<Output = Result<T, ClientError>>>(
    args: &DaemonArgs,
    what: impl FnOnce(Client) -> F,
) -> Result<T, Failure> {
    let asked = System::run(async |_| {
        let client = Client::connect(&args.cluster, args.node.as_deref()).await?;
        what(client).await
    });
    let asked = asked.map_err(|error| Failure::new(Exit::Failed, miette::miette!("no runtime: {error}")))?;
    asked.map_err(|error| Failure::new(Exit::Unreachable, miette::miette!("{error}")))
}

/// Connects to the daemon and does `what` about jobs with it.
pub fn about_jobs<T, F: Future<Output = Result<T, Failure>>>(
    args: &DaemonArgs,
    what: impl FnOnce(Client) -> F,
) -> Result<T, Failure> {
    let asked = System::run(async |_| {
        let client = Client::connect(&args.cluster, args.node.as_deref()).await;
        what(client.map_err(|error| Failure::new(Exit::Unreachable, miette::miette!("{error}")))?).await
    });
    asked.map_err(|error| Failure::new(Exit::Failed, miette::miette!("no runtime: {error}")))?
}

/// What went wrong about a job.
pub fn job_failure(error: JobError) -> Failure {
    let exit = match error {
        JobError::Refused(_) | JobError::Unknown(_) => Exit::Failed,
        JobError::Unreachable(_) | JobError::Ask(_) => Exit::Unreachable,
    };
    Failure::new(exit, miette::miette!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_is_not_reached_is_another_failure_than_a_job_that_nobody_knows() {
        let exit = |error: fn(String) -> JobError| job_failure(error("why".into())).exit;
        assert_eq!(exit(JobError::Unknown), Exit::Failed);
        assert_eq!(exit(JobError::Unreachable), Exit::Unreachable);
    }
}
