//! [`MItem`]: what may stand right of `step`. Each wraps a model process and gives one again.

use std::fmt;

use crate::gossip::Gossip;
use crate::join::Join;
use crate::place::Place;

/// An item right of `step`: it changes the dynamics.
#[derive(Clone, Debug, PartialEq)]
pub enum MItem {
    /// `every h`: a round is h inner rounds, 1 to [`crate::MAX_COUNT`].
    Every(u32),
    /// `join n`: n children around a centre.
    Join(Join),
    /// `gossip n`: n peers without a centre.
    Gossip(Gossip),
}

impl MItem {
    /// Its children: its count, or 1 for `every`.
    pub fn children(&self) -> u32 {
        match self {
            Self::Every(_) => 1,
            Self::Join(join) => join.n,
            Self::Gossip(gossip) => gossip.n,
        }
    }

    /// How its children lie, if that is said.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Every(_) => None,
            Self::Join(join) => join.place,
            Self::Gossip(gossip) => gossip.place,
        }
    }
}

impl fmt::Display for MItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(h) => write!(f, "every {h}"),
            Self::Join(join) => join.fmt(f),
            Self::Gossip(gossip) => gossip.fmt(f),
        }
    }
}
