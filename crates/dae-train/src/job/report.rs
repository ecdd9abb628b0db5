//! How a run ended, and writing that down.

use super::JobError;
use crate::actors::{Checkpointer, End, Ended, Kept, Recorder, Save, Sync};
use crate::board::{Board, Progress};
use crate::centre::Tally;
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
    /// Steps that changed nothing, since numbers in them were not finite (`job.on_nonfinite`); since this process began.
    pub skipped: u64,
    /// The last checkpoint, if it was written at the end.
    pub checkpoint: Option<PathBuf>,
    /// The parameters at the end, flat, where they can be trusted.
    pub params: Option<Vec<f32>>,
    /// The other node whose loss ended the run, where that is all that is known here. It may know the cause.
    pub lost: Option<String>,
    /// How stale what a join's children pushed was, since this process began.
    pub tally: Option<Tally>,
}

/// The checkpoint a run went on from.
pub(super) struct Stood {
    pub(super) step: u64,
    pub(super) path: PathBuf,
}

/// Writes down how it ended: the log first, then the checkpoint. Without a checkpointer, another node does.
pub(super) async fn finish(
    end: End,
    standing: Option<Stood>,
    recorder: &ActorRef<Recorder>,
    checkpointer: Option<&ActorRef<Checkpointer>>,
    board: &Board,
) -> Result<Report, JobError> {
    let End { how, step, loss, snapshot, pace, restarts, lost, tally } = end;
    let params = snapshot.as_ref().map(|kept| kept.params().to_vec());
    // What the log cannot take must not cost the state.
    if let Err(cause) = synced(recorder).await {
        tracing::error!(cause, "the log of events is not whole");
    }
    // Where all steps had been done before, the checkpoint that says so stands.
    let standing = standing.filter(|s| s.step == step);
    let mut events = Vec::new();
    let saved = match (snapshot, standing, checkpointer) {
        (None, ..) | (_, None, None) => Ok(None),
        (Some(_), Some(standing), _) => Ok(Some(standing.path)),
        (Some(snapshot), None, Some(checkpointer)) => {
            let saved = save(snapshot, loss, checkpointer).await;
            events.push(match &saved {
                Ok(path) => Event::Checkpoint { step, path: path.display().to_string() },
                Err(e) => Event::CheckpointFailed { step, cause: e.to_string() },
            });
            saved.map(Some)
        }
    };
    events.push(match (&saved, &how) {
        (Err(e), _) => Event::Failed { step, cause: e.to_string() },
        (_, Ended::Finished) => Event::Finished { step, loss: loss.unwrap_or(f64::NAN) },
        (_, Ended::Stopped(why)) => Event::Stopped { step, reason: why.clone() },
        (_, Ended::Failed(cause)) => Event::Failed { step, cause: cause.clone() },
    });
    let mut told = Ok(());
    for event in events {
        told = told.and(recorder.ask(event, PROMPT).await);
    }
    let checkpoint = saved?;
    told?;
    let Progress { slowest, skipped, .. } = board.read();
    Ok(Report {
        how,
        step,
        loss,
        samples_per_s: pace.map(|p| p.samples as f64 / p.seconds),
        restarts,
        slowest,
        skipped,
        checkpoint,
        params,
        lost,
        tally,
    })
}

/// Waits until the log, and the checkpoints that are on their way, are on the disk.
async fn synced(recorder: &ActorRef<Recorder>) -> Result<(), String> {
    let (waiting, done) = dae_actor::reply("recorder");
    recorder.ask(Sync(waiting), SAVED_BY).await.map_err(|e| e.to_string())?;
    done.within(SAVED_BY).await.map_err(|e| e.to_string())?
}

async fn save(
    kept: Kept,
    loss: Option<f64>,
    checkpointer: &ActorRef<Checkpointer>,
) -> Result<PathBuf, JobError> {
    Ok(checkpointer.ask(Save { kept, loss }, SAVED_BY).await??)
}
