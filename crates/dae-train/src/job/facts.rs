//! What all nodes of a run must have in common.

use crate::actors::TakenUp;
use crate::checkpoint::ChildMeta;
use crate::data::Dataset;
use crate::layout::Layout;
use crate::topology::Plan;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// So many samples at most are looked at, spread evenly over those in use.
const LOOKED_AT: usize = 1024;

/// What nodes compare before their first step. Hashes are hexadecimal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// [`Plan::fingerprint`]: the keys of the topology that decide the bits of the run.
    pub topology: String,
    /// The schedule, as it is written.
    pub word: String,
    /// Steps of the whole run.
    pub steps: u64,
    /// What becomes of a step whose numbers are not finite.
    pub on_nonfinite: String,
    /// The number of parameters.
    pub parameters: usize,
    /// The hash of the names, shapes and places of the model's tensors.
    pub layout: String,
    /// The samples in use.
    pub samples: u64,
    /// The dimensions of one.
    pub shape: Vec<usize>,
    /// The hash of some of them.
    pub data: String,
    /// Where the run goes on, if it does; the first node alone knows.
    pub standing: Option<Standing>,
}

/// The checkpoint a run goes on from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Where it is.
    pub at: TakenUp,
    /// The loss of its last step.
    pub loss: Option<f64>,
    /// The scale of its next order-free sum, where sums are.
    pub scale: Option<i32>,
    /// How far the children of a join are.
    pub children: Vec<ChildMeta>,
    /// Whether it holds what each node keeps back.
    pub kept: bool,
}

impl Facts {
    /// What this node goes by.
    pub fn of(plan: &Plan, layout: &Layout, dataset: &dyn Dataset) -> Self {
        let samples = plan.samples(dataset.len());
        Self {
            topology: plan.fingerprint(),
            word: plan.word().to_string(),
            steps: plan.steps(dataset.len()),
            on_nonfinite: plan.topology().job.on_nonfinite.clone(),
            parameters: layout.parameters(),
            layout: hash_of(|hash| {
                for tensor in layout.tensors() {
                    hash.update(format!("{} {:?} {}\n", tensor.name, tensor.shape, tensor.offset));
                }
            }),
            samples: samples as u64,
            shape: dataset.shape().to_vec(),
            data: hash_of(|hash| look_at(dataset, samples, hash)),
            standing: None,
        }
    }

    /// A line for each thing that differs on another node; `names` are this node's and the other's.
    pub fn differences(&self, other: &Self, names: [&str; 2]) -> Vec<String> {
        let [here, there] = names;
        let said = self.said().into_iter().zip(other.said());
        said.filter(|(mine, theirs)| mine != theirs)
            .map(|((what, mine), (_, theirs))| format!("{what}: {mine} on {here}; {theirs} on {there}"))
            .collect()
    }

    /// All that is compared, in words.
    fn said(&self) -> [(&'static str, String); 5] {
        let Self { word, steps, parameters, samples, shape, .. } = self;
        [
            ("topology", format!("hash {}", short(&self.topology))),
            ("schedule", format!("`{word}`, {steps} steps")),
            ("job.on_nonfinite", self.on_nonfinite.clone()),
            ("model", format!("{parameters} parameters, layout {}", short(&self.layout))),
            ("data", format!("{samples} samples of shape {shape:?}, hash {}", short(&self.data))),
        ]
    }
}

/// The first digits of a hash, which tell two apart.
fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

fn hash_of(fill: impl FnOnce(&mut Sha256)) -> String {
    let mut hash = Sha256::new();
    fill(&mut hash);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn look_at(dataset: &dyn Dataset, samples: usize, hash: &mut Sha256) {
    let looks = samples.min(LOOKED_AT);
    let mut sample = vec![0.0; dataset.features()];
    for look in 0..looks {
        // Evenly, the first and the last among them.
        let id = if looks > 1 { look * (samples - 1) / (looks - 1) } else { 0 };
        dataset.read(id, &mut sample);
        sample.iter().for_each(|x| hash.update(x.to_le_bytes()));
    }
}
