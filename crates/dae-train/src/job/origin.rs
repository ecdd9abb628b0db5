//! Where a run's parameters come from, and whether they may.

use super::{Across, Facts, JobError, Standing};
use crate::actors::{KeptBack, TakenUp};
use crate::backend::Backend;
use crate::checkpoint::{self, Checkpoint, CheckpointError, ChildMeta, Found, Meta};
use crate::data::Dataset;
use crate::layout::Layout;
use crate::run_folder::RunFolder;
use crate::topology::{Plan, THIN, Topology};
use dae_collective::Means;
use std::path::{Path, PathBuf};

/// What a run begins from, the same on all of its nodes.
pub(super) struct Origin {
    /// Where it goes on, if it does.
    pub(super) standing: Option<Standing>,
    pub(super) params: Vec<f32>,
    /// As [`Plan::state_buffers`] names them.
    pub(super) state: Vec<Vec<f32>>,
    /// What this node had kept back, on a resume.
    pub(super) kept: Option<KeptBack>,
    /// How far the children of a join are, on a resume.
    pub(super) children: Vec<ChildMeta>,
    /// What its checkpoints will say.
    pub(super) meta: Meta,
    /// The checkpoint it goes on from; known on the first node.
    pub(super) path: Option<PathBuf>,
    /// How sums over nodes are made.
    pub(super) means: Means,
    /// Newer ones that are damaged.
    pub(super) skipped: Vec<(PathBuf, CheckpointError)>,
}

impl Origin {
    /// What the first node's parameters come from, once all nodes agree on what they are about: the newest valid
    /// checkpoint in `resume`, the seed, or another run.
    pub(super) fn agreed(
        plan: &Plan,
        backend: &dyn Backend,
        dataset: &dyn Dataset,
        resume: Option<&RunFolder>,
        across: &mut Across,
    ) -> Result<Self, JobError> {
        across.check(plan)?;
        let found = resume.map(|folder| checkpoint::newest_valid(&folder.checkpoints()));
        let Found { checkpoint, path, skipped } = found.transpose()?.unwrap_or_default();
        if checkpoint.is_none() && !skipped.is_empty() {
            return Err(JobError::NoneValid(skipped));
        }
        let layout = backend.layout();
        let meta = Meta {
            step: 0,
            cursor: 0,
            seed: plan.seed(),
            samples: plan.samples(dataset.len()) as u64,
            shape: dataset.shape().to_vec(),
            fingerprint: plan.fingerprint(),
            topology: plan.topology().to_toml(),
            word: plan.word().to_string(),
            optimizer: plan.optimizer().map_or("raw".into(), ToString::to_string),
            loss: None,
            scale: None,
            children: vec![],
            layout: layout.clone(),
            version: checkpoint::VERSION,
        };
        if let (Some(checkpoint), Some(path)) = (&checkpoint, &path) {
            agree(plan, &meta, checkpoint, path)?;
        }
        let names = plan.kept_buffers();
        let here = checkpoint.as_ref().map(|Checkpoint { meta, state_names, .. }| Standing {
            at: TakenUp { step: meta.step, cursor: meta.cursor },
            loss: meta.loss,
            scale: meta.scale,
            children: meta.children.clone(),
            kept: !names.is_empty() && state_names.ends_with(&names),
        });
        let standing = across.agreed(here, || Facts::of(plan, layout, dataset))?;
        let children = standing.as_ref().map(|standing| standing.children.clone()).unwrap_or_default();
        if !children.is_empty() && children.len() != plan.children() {
            return Err(JobError::Facts(format!(
                "{} children where `{}` has others",
                children.len(),
                plan.word()
            )));
        }
        if let Some(checkpoint) =
            checkpoint.as_ref().filter(|c| kept_names(&c.state_names) != names.as_slice())
        {
            tracing::warn!(
                there = kept_names(&checkpoint.state_names).join(" "),
                here = names.join(" "),
                "what the checkpoint holds of a lossy `wire` is of other nodes: it is dropped, and the run goes on without what \
                 they had kept back, not to the bit as one that was never stopped"
            );
        }
        let zeros = || vec![0.0; layout.len()];
        // Another node than the first has no use for the state of other children than its own.
        let wanted = |buffer| match plan.apart() && across.node > 0 {
            true => plan.buffers_of(across.node).contains(&buffer),
            false => true,
        };
        let (mut params, mut state) = match checkpoint {
            Some(checkpoint) => (checkpoint.params, checkpoint.state),
            None => {
                let buffer = |n| if wanted(n) { zeros() } else { vec![] };
                (zeros(), (0..plan.state_buffers().len()).map(buffer).collect())
            }
        };
        let held = state.split_off(plan.state_buffers().len());
        match &plan.topology().model.init {
            _ if standing.is_some() || across.node > 0 => {}
            Some(run) => params = inherited(layout, Path::new(run))?,
            None => backend.initialise(plan.seed(), &mut params)?,
        }
        let nodes = across.nodes();
        across.share(1..nodes, std::iter::once(&mut params))?;
        if standing.is_some() && plan.apart() {
            for child in 1..nodes {
                across.share(child..child + 1, state[plan.buffers_of(child)].iter_mut())?;
            }
        } else if standing.is_some() {
            across.share(1..nodes, state.iter_mut())?;
        }
        let common = names.iter().any(|name| name == THIN);
        let kept = standing.as_ref().is_some_and(|standing| standing.kept);
        let kept = kept.then(|| across.deal(held, common, layout.len())).transpose()?;
        let means = across.means(plan, layout)?;
        Ok(Self { standing, params, state, kept, children, meta, path, skipped, means })
    }
}

/// The parameters another run has come to, for one that starts where that one ended.
pub(super) fn inherited(layout: &Layout, run: &Path) -> Result<Vec<f32>, JobError> {
    let folder = run.join("checkpoints");
    let found = checkpoint::newest_valid(&folder)?;
    let (Some(checkpoint), Some(path)) = (found.checkpoint, found.path) else {
        return Err(JobError::NothingToInherit(folder));
    };
    same_tensors(layout, &checkpoint, &path)?;
    Ok(checkpoint.params)
}

/// Whether a run may go on from a checkpoint; `meta` is what its own will say.
pub(super) fn agree(plan: &Plan, meta: &Meta, checkpoint: &Checkpoint, path: &Path) -> Result<(), JobError> {
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
    same_tensors(&meta.layout, checkpoint, path)?;
    if let Some(data) = data {
        return other(vec![data]);
    }
    let children = plan.hub().map_or(0, |hub| hub.children() as usize);
    let state = &checkpoint.state_names;
    let state = &state[..state.len() - kept_names(state).len()];
    if state != plan.state_buffers().as_slice() || there.children.len() != children {
        let (names, children) = (&checkpoint.state_names, there.children.len());
        let difference = format!("optimizer state {names:?} of {children} children of a join or a gossip");
        return Err(JobError::OtherModel { path: path.to_owned(), difference });
    }
    Ok(())
}

/// The last of these names, those of what nodes keep back ([`Plan::kept_buffers`]).
fn kept_names(names: &[String]) -> &[String] {
    let number = |name: &String| name.strip_prefix("kept").is_some_and(|n| n.parse::<u32>().is_ok());
    let others = names.iter().rposition(|name| !(name == THIN || number(name)));
    &names[others.map_or(0, |last| last + 1)..]
}

/// Whether a checkpoint is of this model.
fn same_tensors(here: &Layout, checkpoint: &Checkpoint, path: &Path) -> Result<(), JobError> {
    let there = &checkpoint.meta.layout;
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
