//! What a run leaves behind.

/// A round of the whole word.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Counted from 0.
    pub round: u64,
    /// The virtual time it ended at.
    pub time: f64,
    /// The parameters: the centre's, or the mean of peers that have none.
    pub params: Vec<f32>,
    /// The parameters of each child of the outermost `join` or `gossip`, as it last had them; none without such an item.
    pub replicas: Vec<Vec<f32>>,
    /// The mean loss over the samples whose gradients went into it; not a number where there were none.
    pub loss: f64,
    /// The weight of those.
    pub weight: f64,
    /// Samples consumed since the run began, those under way and those of pushes that were dropped among them.
    pub samples: u64,
}

/// A displacement that came to a centre, in the order they were taken up; of a `gossip sync=async`, a peer that mixed at the
/// end of its round, where a version is so many mixings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Push {
    /// Which item right of `step` the centre, or the gossip, is, counted from 0, and which of its instances.
    pub centre: (usize, usize),
    /// The child.
    pub worker: usize,
    /// How many rounds it had done before.
    pub round: u64,
    /// The version it pulled.
    pub read: u64,
    /// The version it made, with others perhaps; nothing if it was dropped.
    pub applied: Option<u64>,
    /// When it arrived.
    pub time: f64,
}

impl Push {
    /// How many updates came between its pull and its own; nothing if it was dropped.
    pub fn staleness(&self) -> Option<u64> {
        self.applied.map(|version| version - 1 - self.read)
    }
}
