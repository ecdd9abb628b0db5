//! Building a topology in Rust: the same fields as the file, one method for each that is often set.

use toml::{Table, Value};

use super::document::Topology;

/// Each method sets one thing and returns the topology; nothing is checked before [`Topology::compile`]. What has
/// no method is a public field.
impl Topology {
    /// A topology of this name, everything else at its default.
    pub fn new(name: impl Into<String>) -> Self {
        let mut topology = Self::default();
        topology.job.name = name.into();
        topology
    }

    /// Runs so many optimizer steps.
    pub fn steps(mut self, steps: u64) -> Self {
        self.job.steps = steps;
        self.job.epochs = None;
        self
    }

    /// Runs as many steps as cover the data so often.
    pub fn epochs(mut self, epochs: f64) -> Self {
        self.job.steps = Self::default().job.steps;
        self.job.epochs = Some(epochs);
        self
    }

    /// Seeds everything random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.job.seed = seed;
        self
    }

    /// Reads a dataset of this kind: `mnist`, `idx`, or one your program registers.
    pub fn data(mut self, kind: impl Into<String>) -> Self {
        self.data.kind = kind.into();
        self
    }

    /// Reads the data from this folder or file.
    pub fn data_path(mut self, path: impl Into<String>) -> Self {
        self.data.path = Some(path.into());
        self
    }

    /// Gives a registered dataset one of its settings.
    pub fn data_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.data.options.insert(name.into(), value.into());
        self
    }

    /// Takes so many samples per worker and micro-batch.
    pub fn batch(mut self, batch: u32) -> Self {
        self.data.batch = batch;
        self
    }

    /// Uses only the first so many samples.
    pub fn limit(mut self, samples: u64) -> Self {
        self.data.limit = Some(samples);
        self
    }

    /// Damages nothing: a plain autoencoder.
    pub fn no_corruption(self) -> Self {
        let level = self.data.corruption.level;
        self.corruption("none", level)
    }

    /// Sets each value to 0 with this probability.
    pub fn masking(self, probability: f64) -> Self {
        self.corruption("masking", probability)
    }

    /// Sets each value to 0 or 1, evenly, with this probability.
    pub fn salt_and_pepper(self, probability: f64) -> Self {
        self.corruption("salt_and_pepper", probability)
    }

    /// Adds Gaussian noise of this standard deviation and clips to [0, 1].
    pub fn gaussian(self, std_dev: f64) -> Self {
        self.corruption("gaussian", std_dev)
    }

    fn corruption(mut self, kind: &str, level: f64) -> Self {
        self.data.corruption.kind = kind.into();
        self.data.corruption.level = level;
        self
    }

    /// Gives each sample one corruption for the whole run, rather than a new one each epoch.
    pub fn fixed_noise(mut self) -> Self {
        self.data.corruption.fresh = false;
        self
    }

    /// Trains a fully connected autoencoder of these widths, input and output included.
    pub fn mlp(mut self, layers: impl Into<Vec<u32>>) -> Self {
        self.model.layers = layers.into();
        self.model("mlp")
    }

    /// Trains the convolutional autoencoder.
    pub fn conv(self) -> Self {
        self.model("conv")
    }

    /// Trains a model of this kind, one your program registers.
    pub fn model(mut self, kind: impl Into<String>) -> Self {
        self.model.kind = kind.into();
        self
    }

    /// Gives a registered model one of its settings.
    pub fn model_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.model.options.insert(name.into(), value.into());
        self
    }

    /// Measures the mean squared error of a linear output, rather than binary cross-entropy of a sigmoid.
    pub fn mse(mut self) -> Self {
        self.model.loss = "mse".into();
        self.model.output = "linear".into();
        self
    }

    /// Runs by this schedule, such as `split 2 | step adam(1e-3)`.
    pub fn schedule(mut self, word: impl Into<String>) -> Self {
        self.schedule.word = word.into();
        self
    }

    /// Computes on these nodes of a cluster alone.
    pub fn nodes(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.placement.nodes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Raises the rate linearly over so many steps first.
    pub fn warmup(mut self, steps: u64) -> Self {
        self.schedule.warmup_steps = steps;
        self
    }

    /// Lowers the rate along half a cosine, to this fraction of it as the run ends.
    pub fn cosine(mut self, min_factor: f64) -> Self {
        self.schedule.lr = "cosine".into();
        self.schedule.min_factor = min_factor;
        self
    }

    /// Multiplies the rate by `factor` every so many steps.
    pub fn decay(mut self, every: u64, factor: f64) -> Self {
        self.schedule.lr = "step".into();
        self.schedule.decay_every = Some(every);
        self.schedule.decay_factor = factor;
        self
    }

    /// Saves the state every so many steps (0: only at the end).
    pub fn checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint.every = steps;
        self
    }

    /// Adds an actor of a kind your program registers, with its settings.
    pub fn actor(mut self, kind: impl Into<String>, settings: Table) -> Self {
        self.actors.insert(kind.into(), settings);
        self
    }
}
