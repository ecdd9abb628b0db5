//! A state to be written as a checkpoint.

use super::{ChildState, Group};
use crate::checkpoint::ChildMeta;
use dae_collective::{Scale, Snapshot};
use std::sync::Arc;

/// The whole state of a run as of one committed step.
pub struct Kept {
    /// Samples consumed by then.
    pub cursor: u64,
    held: Held,
}

enum Held {
    Group(Snapshot),
    Join(Joined),
}

/// The state of a join, or of a gossip, while nobody is under way.
pub struct Joined {
    /// The centre's version.
    pub version: u64,
    /// The centre's parameters, or the mean of the peers'.
    pub params: Vec<f32>,
    /// The outer optimizer's state.
    pub outer: Vec<Vec<f32>>,
    /// What each child has come to, and where it stands if that is not the centre.
    pub children: Vec<(Arc<ChildState>, Option<Vec<f32>>)>,
    /// The weight of what each peer of a gossip holds; empty of a join.
    pub weights: Vec<f64>,
}

impl Kept {
    /// What one group has come to.
    pub fn group(snapshot: Snapshot, group: &Group) -> Self {
        Self { cursor: group.cursor(snapshot.step), held: Held::Group(snapshot) }
    }

    /// What a join has come to.
    pub fn join(joined: Joined, cursor: u64) -> Self {
        Self { cursor, held: Held::Join(joined) }
    }

    /// Committed steps; of a join, its version.
    pub fn step(&self) -> u64 {
        match &self.held {
            Held::Group(snapshot) => snapshot.step,
            Held::Join(joined) => joined.version,
        }
    }

    /// The flat parameters.
    pub fn params(&self) -> &[f32] {
        match &self.held {
            Held::Group(snapshot) => snapshot.params(),
            Held::Join(joined) => &joined.params,
        }
    }

    /// The flat buffers besides, in the order of [`Plan::buffers`](crate::topology::Plan::buffers).
    pub fn state(&self) -> Vec<&[f32]> {
        match &self.held {
            Held::Group(snapshot) => snapshot.state(),
            Held::Join(joined) => {
                let mut state: Vec<&[f32]> = joined.outer.iter().map(Vec::as_slice).collect();
                for (inner, own) in &joined.children {
                    state.extend(inner.state());
                    state.extend(own.as_deref());
                }
                state
            }
        }
    }

    /// The scale of the next order-free sum of one group, where it has any.
    pub fn scale(&self) -> Option<i32> {
        match &self.held {
            Held::Group(snapshot) => scale(snapshot),
            Held::Join(_) => None,
        }
    }

    /// The copy itself, of one group.
    pub(super) fn into_snapshot(self) -> Option<Snapshot> {
        if let Held::Group(snapshot) = self.held { Some(snapshot) } else { None }
    }

    /// How far each child of a join is.
    pub fn children(&self) -> Vec<ChildMeta> {
        let Held::Join(joined) = &self.held else { return Vec::new() };
        let meta = |(child, (inner, _)): (usize, &(Arc<ChildState>, _))| ChildMeta {
            steps: inner.steps,
            scale: inner.scale,
            weight: joined.weights.get(child).copied(),
        };
        joined.children.iter().enumerate().map(meta).collect()
    }
}

/// The scale of the next order-free sum, where there is one.
fn scale(snapshot: &Snapshot) -> Option<i32> {
    let scale = snapshot.scale();
    (scale != Scale::UNKNOWN).then(|| scale.to_number())
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("step", &self.step())
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
