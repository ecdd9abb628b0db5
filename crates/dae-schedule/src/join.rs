//! [`Join`]: children around a centre, and the choices that make it a parameter server, local SGD, DiLoCo and more.

use std::fmt;

use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::print::{Shortest, count, name, unless_default};
use crate::wire::Wire;

/// `join n`: each child pulls from the centre, runs a round, and pushes its displacement.
///
/// The centre holds parameters x, the state of its outer optimizer, and a version. An update fires at k contributions:
/// D = sum(w d) / sum(w), x <- outer(x, D), version + 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join {
    /// Children, 1 to [`crate::MAX_COUNT`].
    pub n: u32,
    /// How they lie.
    pub place: Option<Place>,
    /// Who waits for whom; `sync=`, `bsp` when left out.
    pub sync: SyncMode,
    /// What the centre does with the displacements; `outer=`, `avg` when left out.
    pub outer: Outer,
    /// What an update divides by; `scale=`, `mean` when left out.
    pub scale: Scale,
    /// What is done about a displacement that is late; `stale=`, `none` when left out.
    pub stale: Stale,
    /// How the numbers travel; `wire=`, `f32` when left out.
    pub wire: Wire,
    /// Actors the centre is cut into, at least 1; `shards=`, 1 when left out.
    pub shards: u32,
    /// Fragments the parameters are cut into, of which one is due at a time, at least 1; `frag=`, 1 when left out
    /// (streaming DiLoCo; Douillard et al. 2025).
    pub frag: u32,
    /// Inner rounds a fragment travels before it is merged; `delay=`, 0 when left out.
    pub delay: u32,
    /// The share of its own value a child keeps when it merges the centre's, in [0, 1]; `mix=`, 0 when left out.
    pub mix: f32,
    /// What a child that pulls is shown; `view=`, `whole` when left out.
    pub view: View,
    /// What a child's displacement counts; `weight=`, `samples` when left out.
    pub weight: Weight,
}

/// Who waits for whom at a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// All for all, each round: `bsp`.
    #[default]
    Bsp,
    /// A child for the slowest, once it is more than s rounds ahead: `ssp(s)` (Ho et al. 2013).
    Ssp(u32),
    /// Nobody for anybody: `async`.
    Async,
    /// An update for k contributions: `quorum(k, keep)` or `quorum(k, drop)`.
    Quorum {
        /// Contributions an update fires at, 1 to n.
        k: u32,
        /// What becomes of those that come after; it must be said where k is below n.
        late: Option<Late>,
    },
}

/// What becomes of a contribution that comes after its update fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is thrown away: `drop` (backup workers; Chen et al. 2016).
    Drop,
    /// It counts for the next update: `keep` (softsync; Zhang et al. 2016).
    Keep,
}

impl Late {
    pub(crate) const NAMES: &'static [(&'static str, Self)] = &[("drop", Self::Drop), ("keep", Self::Keep)];
}

/// A synchronisation spelt out; all modes are triples of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncTerms {
    /// Contributions an update fires at.
    pub k: u32,
    /// Rounds a child may be ahead of the slowest; nothing where there is no bound.
    pub slack: Option<u32>,
    /// What becomes of a contribution that comes after its update fired.
    pub late: Late,
}

/// What the centre does with the mean displacement; the pseudo-gradient is old - new, descended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Outer {
    /// Averages values: `avg`, so that `join 1` is the identity to the bit.
    #[default]
    Avg,
    /// Descends with Nesterov's momentum: `nesterov(lr, mu)` (DiLoCo; Douillard et al. 2023).
    Nesterov {
        /// Outer learning rate, above 0.
        lr: f32,
        /// Outer momentum in [0, 1).
        mu: f32,
    },
    /// `slowmo(a, b)` (Wang et al. 2020).
    SlowMo {
        /// Slow learning rate, above 0.
        a: f32,
        /// Slow momentum in [0, 1).
        b: f32,
    },
    /// Child and centre each move the share a, in [0, 1], of the way to the other: `elastic(a)` (Zhang et al. 2015).
    Elastic(f32),
    /// Any optimizer, on the pseudo-gradient.
    Optimizer(Optimizer),
}

/// What an update divides the contributions by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By their weights: `mean`.
    #[default]
    Mean,
    /// By nothing, each push is a full step: `sum`.
    Sum,
}

impl Scale {
    pub(crate) const NAMES: &'static [(&'static str, Self)] = &[("mean", Self::Mean), ("sum", Self::Sum)];
}

/// What is done about a displacement whose pull was tau versions ago.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Stale {
    /// Nothing: `none`.
    #[default]
    None,
    /// It is divided by tau: `lr/tau` (Zhang et al. 2016).
    LrOverTau,
    /// It is corrected to first order with lambda, at least 0: `dc(lambda)` (Zheng et al. 2017).
    Dc(f32),
    /// It is thrown away above tau: `drop(tau)`.
    Drop(u32),
}

/// What a child that pulls from a centre of several shards is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All shards at one version: `whole`.
    #[default]
    Whole,
    /// Each shard as it stands: `shard`.
    Shard,
}

impl View {
    pub(crate) const NAMES: &'static [(&'static str, Self)] =
        &[("whole", Self::Whole), ("shard", Self::Shard)];
}

/// What a child's displacement counts in the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Its samples: `samples`.
    #[default]
    Samples,
    /// 1: `equal`.
    Equal,
}

impl Weight {
    pub(crate) const NAMES: &'static [(&'static str, Self)] =
        &[("samples", Self::Samples), ("equal", Self::Equal)];
}

impl Join {
    /// `join n` and nothing else: the mean of all, each round.
    pub fn new(n: u32) -> Self {
        let (sync, outer, scale, stale, wire) = Default::default();
        let (view, weight) = Default::default();
        Self {
            n,
            place: None,
            sync,
            outer,
            scale,
            stale,
            wire,
            shards: 1,
            frag: 1,
            delay: 0,
            mix: 0.0,
            view,
            weight,
        }
    }

    /// Whether fragments of it are due one after the other, or merged later than they are pushed.
    pub fn streams(&self) -> bool {
        self.frag > 1 || self.delay > 0
    }

    /// What the centre is cut into: fragments, where they travel by themselves, and shards otherwise.
    pub fn parts(&self) -> u32 {
        if self.streams() { self.frag } else { self.shards }
    }

    /// Its synchronisation spelt out. By law M4 `ssp(0)` and a quorum of all are `bsp`.
    pub fn terms(&self) -> SyncTerms {
        let (k, slack, late) = match self.sync {
            SyncMode::Bsp | SyncMode::Ssp(0) => (self.n, Some(0), Late::Keep),
            SyncMode::Quorum { k, .. } if k == self.n => (self.n, Some(0), Late::Keep),
            SyncMode::Ssp(slack) => (1, Some(slack), Late::Keep),
            SyncMode::Async => (1, None, Late::Keep),
            SyncMode::Quorum { k, late } => (k, None, late.unwrap_or(Late::Keep)),
        };
        SyncTerms { k, slack, late }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        count(f, "join", self.n, self.place)?;
        unless_default(f, "sync", &self.sync, &SyncMode::Bsp)?;
        unless_default(f, "outer", &self.outer, &Outer::Avg)?;
        unless_default(f, "scale", &name(Scale::NAMES, self.scale), &"mean")?;
        unless_default(f, "stale", &self.stale, &Stale::None)?;
        unless_default(f, "wire", &self.wire, &Wire::F32)?;
        unless_default(f, "shards", &self.shards, &1)?;
        unless_default(f, "frag", &self.frag, &1)?;
        unless_default(f, "delay", &self.delay, &0)?;
        if self.mix != 0.0 {
            write!(f, " mix={}", Shortest(self.mix))?;
        }
        unless_default(f, "view", &name(View::NAMES, self.view), &"whole")?;
        unless_default(f, "weight", &name(Weight::NAMES, self.weight), &"samples")
    }
}

impl fmt::Display for SyncMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bsp => f.write_str("bsp"),
            Self::Ssp(slack) => write!(f, "ssp({slack})"),
            Self::Async => f.write_str("async"),
            Self::Quorum { k, late: None } => write!(f, "quorum({k})"),
            Self::Quorum { k, late: Some(late) } => write!(f, "quorum({k},{})", name(Late::NAMES, *late)),
        }
    }
}

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Avg => f.write_str("avg"),
            Self::Nesterov { lr, mu } => write!(f, "nesterov({},{})", Shortest(*lr), Shortest(*mu)),
            Self::SlowMo { a, b } => write!(f, "slowmo({},{})", Shortest(*a), Shortest(*b)),
            Self::Elastic(a) => write!(f, "elastic({})", Shortest(*a)),
            Self::Optimizer(optimizer) => optimizer.fmt(f),
        }
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::LrOverTau => f.write_str("lr/tau"),
            Self::Dc(lambda) => write!(f, "dc({})", Shortest(*lambda)),
            Self::Drop(tau) => write!(f, "drop({tau})"),
        }
    }
}
