//! [`Place`]: how the children of an item lie.

use std::fmt;

/// How the children of an item lie. Without one, the nearest that fits is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `@device`: one child on each device.
    Device,
    /// `@node`: all children on one node.
    Node,
    /// `@rack`: the children on different nodes of one rack.
    Rack,
    /// `@cluster`: the children on different nodes, anywhere.
    Cluster,
}

impl Place {
    /// All places with their names, the nearest first.
    pub(crate) const NAMES: &'static [(&'static str, Self)] =
        &[("device", Self::Device), ("node", Self::Node), ("rack", Self::Rack), ("cluster", Self::Cluster)];

    /// Whether each child lies on nodes of its own.
    pub fn spans_nodes(self) -> bool {
        matches!(self, Self::Rack | Self::Cluster)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", crate::print::name(Self::NAMES, *self))
    }
}
