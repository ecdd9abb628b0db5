//! A checkpoint of a join under way, and its state put together.

use super::ChildState;
use super::kept::{Joined, Kept};
use super::parameter_server::Shown;
use crate::gossip::mean;
use std::sync::Arc;

/// The parts of a join's state as of one version, while they come in. Each child copies its own before it begins the
/// next round; one that is through shows it by leaving.
pub(super) struct Copying {
    pub(super) version: u64,
    pub(super) loss: Option<f64>,
    samples: u64,
    shown: Option<Vec<Shown>>,
    /// Who has not been asked yet.
    unasked: Vec<bool>,
    inner: Vec<Option<Arc<ChildState>>>,
    /// A part cannot be had.
    spoilt: bool,
}

impl Copying {
    /// Of a centre of this version, into which so many samples have gone.
    pub(super) fn new(version: u64, samples: u64, loss: Option<f64>, children: usize) -> Self {
        let inner = (0..children).map(|_| None).collect();
        Self { version, loss, samples, shown: None, unasked: vec![true; children], inner, spoilt: false }
    }

    /// Whether a child that begins is to copy its state first; it is asked once.
    pub(super) fn ask(&mut self, child: usize) -> bool {
        std::mem::take(&mut self.unasked[child])
    }

    /// What the shards have come to.
    pub(super) fn show(&mut self, shown: Result<Vec<Shown>, String>) {
        let shown = shown.ok().filter(|shown| shown.iter().all(|shard| shard.finite));
        self.spoilt |= shown.is_none();
        self.shown = Some(shown.unwrap_or_default());
    }

    /// A child's copy, if there was room for one.
    pub(super) fn take(&mut self, child: usize, copy: Option<ChildState>) {
        self.spoilt |= copy.is_none();
        if let Some(inner) = self.inner.get_mut(child) {
            *inner = copy.map(Arc::new);
        }
    }

    /// Whether nothing is waited for any more; `left` is what those that are through have left with.
    pub(super) fn complete(&mut self, left: &[Option<Arc<ChildState>>]) -> bool {
        for ((inner, left), unasked) in self.inner.iter_mut().zip(left).zip(&self.unasked) {
            if *unasked && inner.is_none() {
                inner.clone_from(left);
            }
        }
        self.shown.is_some() && (self.spoilt || self.inner.iter().all(Option::is_some))
    }

    /// The state, if all parts of it could be had.
    pub(super) fn kept(self) -> Option<Kept> {
        let Self { version, samples, shown, inner, spoilt, .. } = self;
        shown.filter(|_| !spoilt).map(|shown| together(version, samples, shown, inner))
    }
}

/// The state of a join or a gossip: of its shards, in order, and of its children.
pub(super) fn together(
    version: u64,
    samples: u64,
    shown: Vec<Shown>,
    inner: Vec<Option<Arc<ChildState>>>,
) -> Kept {
    if shown.iter().all(|peer| peer.weight.is_some()) {
        return held(version, samples, shown, inner);
    }
    let mut shards = shown.into_iter();
    let Shown { mut params, state: mut outer, mut own, .. } = shards.next().unwrap_or_else(Shown::nothing);
    for shard in shards {
        params.extend(shard.params);
        outer.iter_mut().zip(shard.state).for_each(|(all, more)| all.extend(more));
        own.iter_mut().zip(shard.own).for_each(|(all, more)| all.extend(more));
    }
    let mut own = own.into_iter();
    let children = inner.into_iter().flatten().map(|inner| (inner, own.next())).collect();
    Kept::join(Joined { version, params, outer, children, weights: vec![] }, samples)
}

/// The same of a gossip, of whose peers each has shown what it holds.
fn held(version: u64, samples: u64, shown: Vec<Shown>, inner: Vec<Option<Arc<ChildState>>>) -> Kept {
    let weights = shown.iter().filter_map(|peer| peer.weight).collect();
    let (all, masses): (Vec<_>, Vec<_>) = shown.into_iter().map(|peer| (peer.params, peer.own)).unzip();
    let masses = masses.into_iter().map(|mut own| own.pop());
    let children = inner.into_iter().flatten().zip(masses).collect();
    Kept::join(Joined { version, params: mean(&all), outer: vec![], children, weights }, samples)
}
