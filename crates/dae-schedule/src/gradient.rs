//! [`GItem`]: what may stand left of `step`. Each wraps a gradient source and gives one again.

use std::fmt;

use crate::place::Place;
use crate::print::{count, name, unless_default};
use crate::wire::Wire;

/// An item left of `step`: it changes time and bytes, never the learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GItem {
    /// `accum k`: k micro-batches, 1 to [`crate::MAX_COUNT`], folded over time.
    Accum(u32),
    /// `split n`: n replicas folded over space, the result on all.
    Split(Split),
    /// `pipe p`: the layers cut into p stages.
    Pipe(Pipe),
    /// `tensor n`: wide layers cut into n.
    Tensor(Tensor),
}

/// `split n`: replicas whose gradients are added (an all-reduce).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Replicas, 1 to [`crate::MAX_COUNT`].
    pub n: u32,
    /// How they lie.
    pub place: Option<Place>,
    /// How the sum is made; `algo=`, `auto` when left out.
    pub algo: Algo,
    /// How the numbers travel; `wire=`, `f32` when left out.
    pub wire: Wire,
    /// In which order gradients are added; `order=`, `any` when left out.
    pub order: Order,
    /// Bytes sent in one piece, at least 1; `bucket=4MiB`, the whole gradient when left out.
    pub bucket: Option<u64>,
    /// Whether sums begin while the backward pass still runs: `overlap`.
    pub overlap: bool,
}

/// How an all-reduce is made. Which is the fastest depends on size and network; none changes the sum (law G7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algo {
    /// Chosen from measured latency and bandwidth: `auto`.
    #[default]
    Auto,
    /// Each to its neighbour, p - 1 times round, twice: `ring`.
    Ring,
    /// Recursive halving, then doubling: `halving`.
    Halving,
    /// Recursive doubling: `doubling`.
    Doubling,
    /// Each part to the one that adds it, and from there to all: `direct`.
    Direct,
}

impl Algo {
    pub(crate) const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("ring", Self::Ring),
        ("halving", Self::Halving),
        ("doubling", Self::Doubling),
        ("direct", Self::Direct),
    ];
}

/// In which order gradients are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In any: the same to rounding (`any`).
    #[default]
    Any,
    /// In the order of the grains: the same bits for any number of workers (`exact`).
    Exact,
}

impl Order {
    pub(crate) const NAMES: &'static [(&'static str, Self)] = &[("any", Self::Any), ("exact", Self::Exact)];
}

/// `pipe p`: layers cut into stages, through which micro-batches flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipe {
    /// Stages, 1 to [`crate::MAX_COUNT`].
    pub n: u32,
    /// How the stages lie.
    pub place: Option<Place>,
    /// Micro-batches under way in one step, at least 1; `micro=`, 1 when left out. They count as an `accum` does.
    pub micro: u32,
    /// Their order; `sched=`, `gpipe` when left out.
    pub sched: PipeSched,
}

/// In which order the stages of a pipeline do their micro-batches. Both empty the pipeline at each step (law G5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PipeSched {
    /// All forward, then all backward: `gpipe` (Huang et al. 2019).
    #[default]
    Gpipe,
    /// One forward, one backward: `1f1b`, which holds fewer activations (Narayanan et al. 2019, 2021).
    OneFOneB,
}

impl PipeSched {
    pub(crate) const NAMES: &'static [(&'static str, Self)] =
        &[("gpipe", Self::Gpipe), ("1f1b", Self::OneFOneB)];
}

/// `tensor n`: wide layers cut into n parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Parts, 1 to [`crate::MAX_COUNT`].
    pub n: u32,
    /// How the parts lie.
    pub place: Option<Place>,
}

impl Split {
    /// `split n` and nothing else.
    pub fn new(n: u32) -> Self {
        let (algo, wire, order) = Default::default();
        Self { n, place: None, algo, wire, order, bucket: None, overlap: false }
    }
}

impl Pipe {
    /// `pipe p` and nothing else.
    pub fn new(n: u32) -> Self {
        Self { n, place: None, micro: 1, sched: PipeSched::default() }
    }
}

impl Tensor {
    /// `tensor n` and nothing else.
    pub fn new(n: u32) -> Self {
        Self { n, place: None }
    }
}

impl GItem {
    /// Workers each child of this item stands for: its count, or 1 for a fold over time.
    pub fn children(&self) -> u32 {
        match self {
            Self::Accum(_) => 1,
            Self::Split(Split { n, .. }) | Self::Pipe(Pipe { n, .. }) | Self::Tensor(Tensor { n, .. }) => *n,
        }
    }

    /// How its children lie, if that is said.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Accum(_) => None,
            Self::Split(Split { place, .. })
            | Self::Pipe(Pipe { place, .. })
            | Self::Tensor(Tensor { place, .. }) => *place,
        }
    }

    /// Micro-batches it folds over time: the count of an `accum`, the `micro` of a `pipe`, or 1.
    pub fn micro_batches(&self) -> u32 {
        match self {
            Self::Accum(count) => *count,
            Self::Pipe(pipe) => pipe.micro,
            Self::Split(_) | Self::Tensor(_) => 1,
        }
    }
}

impl fmt::Display for GItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accum(k) => write!(f, "accum {k}"),
            Self::Split(split) => split.fmt(f),
            Self::Pipe(pipe) => pipe.fmt(f),
            Self::Tensor(tensor) => count(f, "tensor", tensor.n, tensor.place),
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        count(f, "split", self.n, self.place)?;
        unless_default(f, "algo", &name(Algo::NAMES, self.algo), &"auto")?;
        unless_default(f, "wire", &self.wire, &Wire::F32)?;
        unless_default(f, "order", &name(Order::NAMES, self.order), &"any")?;
        if let Some(bytes) = self.bucket {
            write!(f, " bucket={}", Bytes(bytes))?;
        }
        f.write_str(if self.overlap { " overlap" } else { "" })
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        count(f, "pipe", self.n, self.place)?;
        unless_default(f, "micro", &self.micro, &1)?;
        unless_default(f, "sched", &name(PipeSched::NAMES, self.sched), &"gpipe")
    }
}

/// Bytes in the largest unit that divides them: `4MiB`.
struct Bytes(u64);

impl Bytes {
    const UNITS: &'static [(&'static str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::UNITS.iter().find(|(_, size)| self.0.is_multiple_of(*size)) {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}", self.0),
        }
    }
}
