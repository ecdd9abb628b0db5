//! Each node moves its own part of the parameters, and has the optimizer's state of that part alone.
//!
//! The first stage of ZeRO (Rajbhandari et al. 2020), as far as work goes: there is room for the state of all on each node.
//! Sums go to who needs them, and parameters go where the rest of the sums would have gone; by `Direct` and `Ring` as
//! many bytes as a sum for all.

use super::{Across, Way, tag};
use crate::arena::{Scalar, cut};
use crate::perform::{Heads, perform_with};
use crate::plan::Collective;
use crate::{Algorithm, Broken, Incoming, Outgoing, Peers, Phase, Plan};
use std::ops::Range;

impl Across {
    /// From now on each node moves its own part.
    ///
    /// # Panics
    /// If numbers travel in a codec: what is lost of a total is known to who sums it alone.
    pub(crate) fn part_by(&mut self, algorithm: Algorithm) {
        let (nodes, node, len) = (self.peers.nodes(), self.peers.node(), self.reduced.len());
        let Way::Plain { plan, spread, .. } = &mut self.way else {
            panic!("parameters of several owners do not go with a codec");
        };
        *plan = Plan::new(algorithm, Collective::ReduceScatter, nodes, node, len);
        *spread = Some(Plan::new(algorithm, Collective::AllGather, nodes, node, len));
    }

    /// That of one node.
    pub(super) fn part_of(&self, node: usize) -> Range<usize> {
        cut(self.reduced.len(), self.peers.nodes(), node)
    }

    /// Sends this node's part of the slice of parameters, which it has moved, to all others, and takes theirs; with it
    /// whether the gradients they saw were finite. Whether all were.
    pub(crate) fn spread(&mut self, step: u64, params: &mut [f32], finite: bool) -> Result<bool, Broken> {
        let Self { peers, way: Way::Plain { spread: Some(plan), room, .. }, .. } = self else {
            return Ok(finite);
        };
        let mine = [u8::from(finite)];
        let mut all = vec![mine.to_vec(); peers.nodes()];
        let heads = Heads { mine: &mine, all: &mut all };
        let tag = tag(step, Phase::Params);
        perform_with(&mut **peers, tag, plan.copying(), (params, room), None, Some(heads))?;
        Ok(all.iter().flatten().all(|finite| *finite != 0))
    }

    /// Brings what all nodes have of one of the optimizer's buffers, of which this is the slice, to the first. All nodes
    /// come or none.
    pub(crate) fn collect(&mut self, step: u64, buffer: usize, slice: &mut [f32]) -> Result<(), Broken> {
        if !matches!(self.way, Way::Plain { spread: Some(_), .. }) {
            return Ok(());
        }
        let nodes = self.peers.nodes();
        let (first, own) = (self.is_first(), self.part());
        let mut out = vec![None; nodes];
        let mut into: Vec<_> = (0..nodes).map(|_| None).collect();
        if first {
            let mut rest = &mut slice[own.end..];
            for (node, into) in into.iter_mut().enumerate().skip(1) {
                let place = rest.split_off_mut(..self.part_of(node).len()).unwrap_or_default();
                *into = (!place.is_empty()).then(|| Incoming::numbers(place));
            }
        } else if !own.is_empty() {
            out[0] = Some(Outgoing::numbers(&slice[own]));
        }
        if out.iter().all(Option::is_none) && into.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut tag = tag(step, Phase::Moments);
        // An optimizer has a handful.
        tag.bucket = buffer as u32;
        self.peers.exchange(tag, &out, &mut into)
    }
}

/// A number of each node, in their order. All nodes have the same kind.
pub(crate) fn of_each(peers: &mut dyn Peers, step: u64, mine: Scalar) -> Result<Vec<Scalar>, Broken> {
    let (nodes, node) = (peers.nodes(), peers.node());
    let bytes = match mine {
        Scalar::Float(x) => u128::from(x.to_bits()),
        Scalar::Integer(x) => x.cast_unsigned(),
    };
    let bytes = bytes.to_le_bytes();
    let mut all = vec![bytes; nodes];
    let mut out = vec![Some(Outgoing { head: &bytes, body: &[] }); nodes];
    let mut into: Vec<_> = all.iter_mut().map(|head| Some(Incoming { head, body: &mut [] })).collect();
    (out[node], into[node]) = (None, None);
    peers.exchange(tag(step, Phase::Norm), &out, &mut into)?;
    let read = |bytes: [u8; 16]| match mine {
        Scalar::Float(_) => Scalar::Float(f64::from_bits(u128::from_le_bytes(bytes) as u64)),
        Scalar::Integer(_) => Scalar::Integer(i128::from_le_bytes(bytes)),
    };
    Ok(all.into_iter().map(read).collect())
}

#[cfg(test)]
mod tests;
