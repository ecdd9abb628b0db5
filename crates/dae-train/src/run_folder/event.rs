//! What one line of the event log says.

use super::DiskError;
use crate::centre::Taken;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longer lines are no events, in bytes: an event holds short texts and numbers.
const MAX_LINE: u64 = 1 << 20;

/// One event of a run, one line of `events.ndjson`: `{"type":"step","step":1,"loss":0.69,"samples":256,"lr":0.001}`.
///
/// A loss that is not finite is written as `null`. Step lines hold no clock times, so that those of a run stopped and
/// resumed equal those of one left alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    Started {
        /// The schedule word.
        word: String,
        /// The seed.
        seed: u64,
        /// The fingerprint of what decides its bits.
        fingerprint: String,
        /// The number of parameters.
        parameters: usize,
        /// The number of workers.
        workers: usize,
    },
    /// The run went on from a checkpoint.
    Resumed {
        /// Committed steps by then.
        step: u64,
        /// The checkpoint.
        checkpoint: String,
    },
    /// A step was committed.
    Step {
        /// Committed steps, this one included.
        step: u64,
        /// The mean training loss of its samples.
        loss: f64,
        /// Samples consumed since the run began.
        samples: u64,
        /// The learning rate it was made with.
        lr: f32,
    },
    /// The step committed last changed nothing, since numbers in it were not finite.
    Skipped {
        /// The step.
        step: u64,
        /// The first worker whose numbers were the bad ones; none where only their sum was bad.
        worker: Option<String>,
        /// What was not finite: `loss` or `gradient`.
        what: Cow<'static, str>,
        /// The first tensor whose gradient held such a number, where that is known.
        tensor: Option<String>,
    },
    /// A join that does not wait for all has taken up a push; of a gossip whose peers wait for nobody, one has met another.
    Push(Taken),
    /// A checkpoint was written.
    Checkpoint {
        /// Its step.
        step: u64,
        /// The checkpoint.
        path: String,
    },
    /// A checkpoint could not be written; the run goes on.
    CheckpointFailed {
        /// Its step.
        step: u64,
        /// Why.
        cause: String,
    },
    /// A worker failed and the group was formed anew.
    Restarted {
        /// Committed steps.
        step: u64,
        /// The first cause.
        cause: String,
    },
    /// The step after this one takes far longer than is normal; the run goes on.
    Stalled {
        /// Committed steps.
        step: u64,
        /// How long none was committed, in seconds.
        waited_s: f64,
        /// Which ranks are waited for, and what each is at for how long.
        what: String,
    },
    /// The run was stopped and can be resumed.
    Stopped {
        /// Committed steps.
        step: u64,
        /// Who or what stopped it.
        reason: String,
    },
    /// The run failed.
    Failed {
        /// Committed steps.
        step: u64,
        /// The first cause.
        cause: String,
    },
    /// The run is complete.
    Finished {
        /// Committed steps.
        step: u64,
        /// The training loss of the last step.
        loss: f64,
    },
}

/// The part of a line that reading needs; other fields, and events of other programs, are fine.
#[derive(Deserialize)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub kind: String,
    pub step: Option<u64>,
    pub child: Option<usize>,
    pub round: Option<u64>,
    pub loss: Option<f64>,
    pub samples: Option<u64>,
    pub word: Option<String>,
}

/// The losses of the step events, in the log's order, NaN where a loss was not finite. Lines that are torn are passed
/// over.
///
/// # Errors
/// If the log cannot be read.
pub fn read_losses(path: &Path) -> Result<Vec<(u64, f64)>, DiskError> {
    let mut losses = Vec::new();
    for_each_line(path, |line, _| {
        if line.kind == "step"
            && let Some(step) = line.step
        {
            losses.push((step, line.loss.unwrap_or(f64::NAN)));
        }
        Ok(())
    })?;
    Ok(losses)
}

/// Calls `visit` with each line that is an event, parsed and as bytes without the newline.
pub(super) fn for_each_line(
    path: &Path,
    mut visit: impl FnMut(Line, &[u8]) -> Result<(), DiskError>,
) -> Result<(), DiskError> {
    let mut reader = BufReader::new(File::open(path).map_err(DiskError::when("read", path))?);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let n = reader
            .by_ref()
            .take(MAX_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(DiskError::when("read", path))?;
        if n == 0 {
            return Ok(());
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if let Ok(line) = serde_json::from_slice(text) {
            visit(line, text)?;
        }
    }
}
