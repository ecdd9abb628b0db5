//! What is asked of a daemon about jobs.

use std::time::{Duration, Instant};

use dae_actor::{AskError, Handler, Message, Reply};

use super::Client;
use crate::NodeActor;
use crate::protocol::hosts::Outcome;
use crate::protocol::jobs::{
    ActorRows, ActorsOf, Follow, JobNews, JobRows, JobState, ListJobs, Missing, News, RunAnswer, RunJob,
    StopAnswer, StopJob,
};

/// How long a daemon may take to answer, with those it asks in turn.
const PATIENCE: Duration = Duration::from_secs(15);
/// A job is asked about no more often than this while nothing is written.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a job was not started, followed or stopped.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// It has no place, or is not one that may run.
    #[error("{0}")]
    Refused(String),
    /// There is no such job.
    #[error("{0}")]
    Unknown(String),
    /// Its home, which knows all of it, cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// The daemon did not answer.
    #[error("the daemon did not answer: {0}")]
    Ask(#[from] AskError),
}

impl From<Missing> for JobError {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Unknown { why } => Self::Unknown(why),
            Missing::Unreachable { why } => Self::Unreachable(why),
        }
    }
}

impl Client {
    /// Starts a job; gives its id, and the nodes it runs on in the order of their ranks.
    ///
    /// # Errors
    /// If it cannot be placed: with the arithmetic.
    pub async fn run(&self, job: RunJob) -> Result<(String, Vec<String>), JobError> {
        match self.later(job).await? {
            RunAnswer::Placed { job, nodes } => Ok((job, nodes)),
            RunAnswer::Refused { why } => Err(JobError::Refused(why)),
        }
    }

    /// Follows a job from the line after `after` to its end; `each` is given what is new. Leaving off, by dropping the
    /// future, does nothing to the job.
    ///
    /// # Errors
    /// If there is no such job, or the daemon goes away.
    pub async fn follow(
        &self,
        job: &str,
        after: u64,
        mut each: impl FnMut(&JobNews),
    ) -> Result<Outcome, JobError> {
        let mut after = after;
        loop {
            let asked = Instant::now();
            let news = self.news(job, after, false).await?;
            each(&news);
            after = news.next;
            if let JobState::Ended(outcome) = news.job.state
                && !news.more
            {
                return Ok(outcome);
            }
            if !news.more {
                tokio::time::sleep_until((asked + PAUSE).into()).await;
            }
        }
    }

    /// What is new of a job after the line `after`, at once or when there is something.
    ///
    /// # Errors
    /// If there is no such job.
    pub async fn news(&self, job: &str, after: u64, now: bool) -> Result<JobNews, JobError> {
        match self.later(Follow { job: job.into(), after, now }).await? {
            News::Of(news) => Ok(*news),
            News::Missing(missing) => Err(missing.into()),
        }
    }

    /// Asks a job to end, or kills it; false if it had ended before.
    ///
    /// # Errors
    /// If there is no such job.
    pub async fn stop(&self, job: &str, why: &str, now: bool) -> Result<bool, JobError> {
        match self.later(StopJob { job: job.into(), why: why.into(), now }).await? {
            StopAnswer::Stopping => Ok(true),
            StopAnswer::Over => Ok(false),
            StopAnswer::Missing(missing) => Err(missing.into()),
        }
    }

    /// All jobs of the cluster.
    ///
    /// # Errors
    /// If the daemon does not answer.
    pub async fn jobs(&self) -> Result<JobRows, JobError> {
        Ok(self.later(ListJobs { everywhere: true }).await?)
    }

    /// All actors of the cluster.
    ///
    /// # Errors
    /// If the daemon does not answer.
    pub async fn actors(&self) -> Result<ActorRows, JobError> {
        Ok(self.later(ActorsOf { everywhere: true }).await?)
    }

    async fn later<M, T>(&self, message: M) -> Result<T, AskError>
    where
        M: Message<Reply = Reply<T>>,
        NodeActor: Handler<M>,
        T: Send + 'static,
    {
        self.node.ask(message, PATIENCE).await?.within(PATIENCE).await
    }
}
