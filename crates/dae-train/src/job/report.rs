//! How a run ended, and writing that down.

use super::JobError;
use crate::actors::{Checkpointer, End, Ended, Recorder, Save, Sync};
use crate::board::Board;
use crate::run_folder::Event;
use dae_actor::ActorRef;
use std::path::PathBuf;
use std::time::Duration;

/// Answers that need no work come within this.
pub(super) const PROMPT: Duration = Duration::from_secs(60);
/// Longer than any disk should take for one checkpoint.
const SAVED_BY: Duration = Duration::from_secs(600);

/// How a run ended.
#[derive(Debug)]
pub struct Report {
    /// How.
    pub how: Ended,
    /// Committed steps.
    pub step: u64,
    /// The loss of the last one.
    pub loss: Option<f64>,
    /// Samples a second, the first ten steps left out.
    pub samples_per_s: Option<f64>,
    /// How often the group was formed anew.
    pub restarts: u64,
    /// How often each rank was the slowest to compute, since this process began.
    pub slowest: Vec<u64>,
    /// The last checkpoint, if it was written at the end.
    pub checkpoint: Option<PathBuf>,
    /// The parameters at the end, flat, where they can be trusted.
    pub params: Option<Vec<f32>>,
}

/// Writes down how it ended: the log first, then the checkpoint.
pub(super) async fn finish(
    end: End,
    recorder: &ActorRef<Recorder>,
    checkpointer: &ActorRef<Checkpointer>,
    board: &Board,
) -> Result<Report, JobError> {
    let params = end.snapshot.as_ref().map(|s| s.params().to_vec());
    let step = end.step;
    let (waiting, synced) = dae_actor::reply("recorder");
    recorder.ask(Sync(waiting), PROMPT).await?;
    if let Err(cause) = synced.within(SAVED_BY).await? {
        tracing::error!(cause, "the log of events is not whole");
    }
    let checkpoint = match end.snapshot {
        Some(snapshot) => Some(checkpointer.ask(Save { snapshot, loss: end.loss }, SAVED_BY).await??),
        None => None,
    };
    if let Some(path) = &checkpoint {
        recorder.ask(Event::Checkpoint { step, path: path.display().to_string() }, PROMPT).await?;
    }
    let last = match &end.how {
        Ended::Finished => Event::Finished { step, loss: end.loss.unwrap_or(f64::NAN) },
        Ended::Stopped(why) => Event::Stopped { step, reason: why.clone() },
        Ended::Failed(cause) => Event::Failed { step, cause: cause.clone() },
    };
    recorder.ask(last, PROMPT).await?;
    Ok(Report {
        how: end.how,
        step,
        loss: end.loss,
        samples_per_s: end.pace.map(|p| p.samples as f64 / p.seconds),
        restarts: end.restarts,
        slowest: board.read().slowest,
        checkpoint,
        params,
    })
}
