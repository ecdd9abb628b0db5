//! [`Facts`]: what is known of the machines, the data and the model a schedule is checked for.

/// What is known; a rule whose facts are missing says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Workers there are: devices, or cores to give them.
    pub workers: Option<u32>,
    /// Nodes there are.
    pub nodes: Option<u32>,
    /// Samples that one optimizer step is to take.
    pub batch: Option<u64>,
    /// Samples in a grain, the least a worker computes at once.
    pub grain: Option<u64>,
    /// Layers of the model that a stage boundary may lie between.
    pub layers: Option<u32>,
    /// Rows and columns of each matrix of the model.
    pub matrices: Option<Vec<(u64, u64)>>,
    /// Parameters of the model.
    pub parameters: Option<u64>,
    /// Bytes of activations that one micro-batch keeps for the backward pass.
    pub activations: Option<u64>,
    /// Bytes of memory that a node has.
    pub node_memory: Option<u64>,
    /// Whether the model keeps statistics of its batches, as batch normalisation does.
    pub batch_statistics: Option<bool>,
    /// Whether two runs must give the same bits.
    pub bits: Option<bool>,
    /// Whether the run goes by virtual time, in which what is asynchronous repeats itself.
    pub virtual_time: Option<bool>,
    /// What a checkpoint holds besides the parameters, the step and the optimizer's state of one model.
    pub checkpoint: Option<Checkpoint>,
}

/// What a checkpoint holds besides the parameters, the step and the optimizer's state of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// What each `wire` has kept back and still owes.
    pub residuals: bool,
    /// The optimizer's state of each child of a `join` or a `gossip`, and of each centre.
    pub moments: bool,
}
