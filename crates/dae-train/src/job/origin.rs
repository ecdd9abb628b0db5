//! Where a run's parameters come from, and whether they may.

use super::JobError;
use crate::actors::Group;
use crate::checkpoint::{self, Checkpoint};
use crate::topology::{Plan, Topology};
use std::path::Path;

/// The parameters another run has come to, for one that starts where that one ended.
pub(super) fn inherited(group: &Group, run: &Path) -> Result<Vec<f32>, JobError> {
    let folder = run.join("checkpoints");
    let found = checkpoint::newest_valid(&folder)?;
    let (Some(checkpoint), Some(path)) = (found.checkpoint, found.path) else {
        return Err(JobError::NothingToInherit(folder));
    };
    same_tensors(group, &checkpoint, &path)?;
    Ok(checkpoint.params)
}

/// Whether a run may go on from a checkpoint.
pub(super) fn agree(
    plan: &Plan,
    group: &Group,
    checkpoint: &Checkpoint,
    path: &Path,
) -> Result<(), JobError> {
    if checkpoint.meta.fingerprint != plan.fingerprint() {
        let there = Topology::from_str("the checkpoint's topology", &checkpoint.meta.topology, &[]);
        let differences = match there {
            Ok(there) => plan.differences(&there.topology),
            Err(_) => vec!["its topology cannot be read by this version".into()],
        };
        return Err(JobError::OtherTopology { path: path.to_owned(), differences });
    }
    same_tensors(group, checkpoint, path)?;
    if checkpoint.state_names != group.rule.state_names() {
        let difference = format!("optimizer state {:?}", checkpoint.state_names);
        return Err(JobError::OtherModel { path: path.to_owned(), difference });
    }
    Ok(())
}

/// Whether a checkpoint is of this model.
fn same_tensors(group: &Group, checkpoint: &Checkpoint, path: &Path) -> Result<(), JobError> {
    let (here, there) = (group.backend.layout(), &checkpoint.meta.layout);
    if here != there {
        let pairs = here.tensors().iter().zip(there.tensors());
        let difference = pairs
            .filter(|(a, b)| a != b)
            .map(|(a, b)| format!("{} {:?} here, {} {:?} there", a.name, a.shape, b.name, b.shape))
            .next()
            .unwrap_or_else(|| format!("{} here, {} there", here.tensors().len(), there.tensors().len()));
        return Err(JobError::OtherModel { path: path.to_owned(), difference });
    }
    Ok(())
}
