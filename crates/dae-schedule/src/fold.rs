//! The folds left of `step`: over time (`accum`) and over space (`split`).

use std::fmt;

/// How the replicas of a `split` lie. Without one, the nearest that fits is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `@device`: one child on each device.
    Device,
    /// `@node`: all children on one node.
    Node,
    /// `@cluster`: each child on a node of its own.
    Cluster,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "@device",
            Self::Node => "@node",
            Self::Cluster => "@cluster",
        })
    }
}

/// One gradient item: it wraps a gradient source in equal children and adds what they report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    Accum(u32),
    Split { workers: u32, place: Option<Place> },
}

impl Fold {
    /// Law G1: a fold of one child is nothing.
    pub(crate) fn is_nothing(self) -> bool {
        matches!(self, Self::Accum(1) | Self::Split { workers: 1, .. })
    }
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accum(count) => write!(f, "accum {count}"),
            Self::Split { workers, place: None } => write!(f, "split {workers}"),
            Self::Split { workers, place: Some(place) } => write!(f, "split {workers} {place}"),
        }
    }
}
