//! The sections of a topology: fields, types, documentation, defaults and limits of every key, in one place.
//!
//! The macro turns each section into a plain struct, its `Default`, and its rows in the table of keys, so that
//! none of the three can say something the others do not. [`SECTIONS`] drives the reading of files, the schema
//! for editors, and the reference in `docs/topology.md`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::key::{Key, Rule, Section};

macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $section:ident in $path:literal {
            $( $(#[doc = $doc:literal])+ $name:ident: $ty:ty = $default:expr, $key:expr; )+
            $( + $(#[doc = $sub_doc:literal])+ $sub:ident: $sub_ty:ty; )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $section {
            $( $(#[doc = $doc])+ pub $name: $ty, )+
            $( $(#[doc = $sub_doc])+ pub $sub: $sub_ty, )*
        }

        impl $section {
            const SECTION: Section = Section {
                path: $path,
                doc: concat!($($about),+),
                keys: &[ $( $key.named($path, stringify!($name), concat!($($doc),+)) ),+ ],
            };
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($name: $default,)+ $($sub: Default::default(),)* }
            }
        }
    };
}

/// The sections in the order of the reference; `[actors.NAME]`, whose keys are all the user's, is not among them.
pub(super) static SECTIONS: [Section; 7] = [
    Job::SECTION,
    Data::SECTION,
    Corruption::SECTION,
    ModelSection::SECTION,
    ScheduleSection::SECTION,
    CheckpointSection::SECTION,
    Placement::SECTION,
];

section! {
    /// The run as a whole.
    Job in "job" {
        /// The name of the run, shown in logs and used for its files.
        name: String = "job".into(), Key::new(Rule::Name).free();
        /// How many optimizer steps to run.
        steps: u64 = 1000, Key::int(1, 1_000_000_000_000).instead_of("job.epochs").free();
        /// How often to go through the data, instead of `steps`: as many steps as cover `epochs` times the samples, the short last one included.
        epochs: Option<f64> = None, Key::float(1e-6, 1e6).instead_of("job.steps").free();
        /// The seed of everything random: initial parameters, order of samples, corruption.
        seed: u64 = 0, Key::int(0, i64::MAX);
        /// How often a failed worker is restarted before the run gives up.
        restarts: u32 = 3, Key::int(0, 1000).free();
        /// What becomes of a step in which a loss or a gradient is not finite: it ends the run, or all workers skip it alike. A run that skips 100 in a row ends.
        on_nonfinite: String = "stop".into(), Key::new(Rule::OneOf(&["stop", "skip_if_any"])).free();
        /// How long a step may take before the run is called stalled, in seconds.
        stall_timeout_s: u64 = 300, Key::int(1, 86_400).free();
    }
}

section! {
    /// Where the samples come from and how they are read.
    Data in "data" {
        /// The dataset: `mnist`, a file in MNIST's `idx` format, or a kind your program registers.
        kind: String = "mnist".into(), Key::new(Rule::Kind(&["mnist", "idx"]));
        /// The folder of MNIST's files (without it `dae/mnist` in the user's cache directory), or the `idx` file; from the working directory.
        path: Option<String> = None, Key::new(Rule::Text).free();
        /// The `idx` file of the samples to evaluate on.
        eval_path: Option<String> = None, Key::new(Rule::Text).only_with("data.kind", "idx").free();
        /// Samples per worker and micro-batch.
        batch: u32 = 128, Key::int(1, 1_048_576);
        /// Whether every epoch has an order of its own; otherwise samples come as they lie in the file.
        shuffle: bool = true, Key::new(Rule::Bool);
        /// Batches kept ready for each worker.
        prefetch: u32 = 2, Key::int(1, 64).free();
        /// Use only so many samples, the first ones.
        limit: Option<u64> = None, Key::int(1, 1_000_000_000_000);
        /// Settings of a dataset your program registers.
        options: Table = Table::new(), Key::new(Rule::Table);
        + /// How samples are damaged before the model sees them.
        corruption: Corruption;
    }
}

section! {
    /// How samples are damaged before the model sees them; it learns to restore the clean ones.
    Corruption in "data.corruption" {
        /// `masking` sets values to 0, `salt_and_pepper` to 0 or 1, `gaussian` adds noise and clips to [0, 1].
        kind: String = "masking".into(), Key::new(Rule::OneOf(&["none", "masking", "salt_and_pepper", "gaussian"]));
        /// The probability that a value is damaged; for `gaussian` the standard deviation of the noise.
        level: f64 = 0.3, Key::float(0.0, 1000.0);
        /// New corruption in every epoch; otherwise each sample has one corruption for the whole run.
        fresh: bool = true, Key::new(Rule::Bool);
    }
}

section! {
    /// The model and its loss.
    ModelSection in "model" {
        /// The model: `mlp`, `conv` (a convolutional autoencoder), or a kind your program registers.
        kind: String = "mlp".into(), Key::new(Rule::Kind(&["mlp", "conv"]));
        /// The width of each layer, from the input to the output; both are the size of a sample.
        layers: Vec<u32> = vec![784, 512, 64, 512, 784], Key::new(Rule::Layers).only_with("model.kind", "mlp");
        /// Whether the decoder uses the encoder's weights, transposed.
        tied: bool = false, Key::new(Rule::Bool).only_with("model.kind", "mlp");
        /// What follows every layer but the last.
        activation: String = "relu".into(), Key::new(Rule::OneOf(&["relu", "sigmoid", "tanh"])).only_with("model.kind", "mlp");
        /// What follows the last layer.
        output: String = "sigmoid".into(), Key::new(Rule::OneOf(&["sigmoid", "linear"]));
        /// The reconstruction loss: binary cross-entropy (which needs a sigmoid output) or mean squared error.
        loss: String = "bce".into(), Key::new(Rule::OneOf(&["bce", "mse"]));
        /// Weight of the loss where the input was corrupted (Vincent et al., 2010).
        emphasis_corrupted: f64 = 1.0, Key::float(0.0, 1e6);
        /// Weight of the loss where the input was left clean.
        emphasis_clean: f64 = 1.0, Key::float(0.0, 1e6);
        /// The folder of a run whose newest checkpoint gives the parameters to start with, instead of random ones.
        init: Option<String> = None, Key::new(Rule::Text).free();
        /// Settings of a model your program registers.
        options: Table = Table::new(), Key::new(Rule::Table);
    }
}

section! {
    /// Who computes what and when, with which optimizer, and how the learning rate moves.
    ScheduleSection in "schedule" {
        /// The schedule: a word of the algebra, which names the workers and the optimizer.
        word: String = "split 1 | step adam(1e-3)".into(), Key::new(Rule::Text);
        /// How the optimizer's rate moves after warm-up: it stays, falls in steps, or falls along half a cosine.
        lr: String = "constant".into(), Key::new(Rule::OneOf(&["constant", "step", "cosine"]));
        /// Steps over which the rate first rises linearly to the optimizer's.
        warmup_steps: u64 = 0, Key::int(0, 1_000_000_000_000);
        /// Steps between two falls.
        decay_every: Option<u64> = None, Key::int(1, 1_000_000_000_000).only_with("schedule.lr", "step");
        /// What each fall multiplies the rate by.
        decay_factor: f64 = 0.1, Key::float(0.0, 1.0).only_with("schedule.lr", "step");
        /// The rate reached as the run ends, as a fraction of the optimizer's.
        min_factor: f64 = 0.0, Key::float(0.0, 1.0).only_with("schedule.lr", "cosine");
    }
}

section! {
    /// When the state of the run is saved.
    CheckpointSection in "checkpoint" {
        /// Steps between two checkpoints; 0 writes one only at the end.
        every: u64 = 500, Key::int(0, 1_000_000_000_000).free();
        /// How many of the newest checkpoints are kept.
        keep: u32 = 3, Key::int(1, 10_000).free();
    }
}

section! {
    /// Where workers compute.
    Placement in "placement" {
        /// The device of every worker.
        device: String = "cpu".into(), Key::new(Rule::OneOf(&["cpu"])).free();
        /// The nodes of a cluster that may compute, where not all may.
        nodes: Vec<String> = Vec::new(), Key::new(Rule::Names).free();
        /// libtorch's threads in each worker.
        threads: u32 = 1, Key::int(1, 1024).free();
        /// Whether worker r stays on core r.
        pin: bool = false, Key::new(Rule::Bool).free();
        /// How what workers exchange travels between nodes: sealed, or, for networks in which everybody is trusted, plain,
        /// which is faster: who is on the network can read and change gradients, parameters and losses. Nodes prove the
        /// cluster's key in any case.
        bulk: String = "sealed".into(), Key::new(Rule::OneOf(&["sealed", "plain"])).free();
    }
}

impl Job {
    /// Whether a step in which a number is not finite is skipped; otherwise it ends the run.
    pub fn skips(&self) -> bool {
        self.on_nonfinite == "skip_if_any"
    }
}

impl Data {
    /// Where the data lies: `path` where it is given, for MNIST otherwise where it is fetched to
    /// ([`crate::data::mnist_folder`]), and nothing for any other kind.
    pub fn location(&self) -> Option<PathBuf> {
        match &self.path {
            Some(path) => Some(path.into()),
            None if self.kind == "mnist" => crate::data::mnist_folder(),
            None => None,
        }
    }
}

impl ModelSection {
    /// Whether the loss must know which values were corrupted: it weighs them otherwise than the rest.
    pub fn wants_mask(&self) -> bool {
        self.emphasis_corrupted != self.emphasis_clean
    }
}
