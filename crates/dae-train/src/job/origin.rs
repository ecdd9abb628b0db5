//! Where a run's parameters come from, and whether they may.

use super::JobError;
use crate::actors::Group;
use crate::checkpoint::{self, Checkpoint, Meta};
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

/// Whether a run may go on from a checkpoint; `meta` is what its own will say.
pub(super) fn agree(
    plan: &Plan,
    group: &Group,
    meta: &Meta,
    checkpoint: &Checkpoint,
    path: &Path,
) -> Result<(), JobError> {
    let there = &checkpoint.meta;
    let other = |differences| Err(JobError::OtherTopology { path: path.to_owned(), differences });
    let described = |m: &Meta| format!("{} samples of shape {:?}", m.samples, m.shape);
    let data = ((there.samples, &there.shape) != (meta.samples, &meta.shape))
        .then(|| format!("data: {} here, {} in the checkpoint", described(meta), described(there)));
    if there.fingerprint != meta.fingerprint {
        let mut differences = match Topology::from_str("the checkpoint's topology", &there.topology, &[]) {
            Ok(there) => plan.differences(&there.topology),
            Err(_) => vec!["its topology cannot be read by this version".into()],
        };
        differences.extend(data);
        return other(differences);
    }
    same_tensors(group, checkpoint, path)?;
    if let Some(data) = data {
        return other(vec![data]);
    }
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
