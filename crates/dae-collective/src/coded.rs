//! A sum over nodes whose numbers travel in a codec.

use crate::arena::cut;
use crate::element::add;
use crate::perform::Heads;
use crate::{Broken, Codec, CodecError, Incoming, Outgoing, Peers, Tag};
use std::ops::Range;

/// A direct all-reduce in a codec.
///
/// Every part is written for the node that sums it, which adds what it reads, and its own part as it is, in the order of
/// nodes. The total is written once more, for all, and the node that made it also uses what is read from that: so all
/// have the same bits. What is lost is kept twice, where parts are sent and where totals are, and added the next time.
pub(crate) struct Coded {
    codec: Codec,
    node: usize,
    parts: Vec<Range<usize>>,
    /// Kept of what this node sent to others; nothing at its own part.
    kept: Vec<f32>,
    /// Kept of this node's totals.
    kept_of_total: Vec<f32>,
    /// What goes to each node, or, of this one's own, to all.
    written: Vec<Vec<u8>>,
    /// What came from each node.
    came: Vec<Vec<u8>>,
    total: Vec<f32>,
    term: Vec<f32>,
}

impl Coded {
    pub(crate) fn new(codec: Codec, nodes: usize, node: usize, len: usize) -> Self {
        let parts: Vec<_> = (0..nodes).map(|n| cut(len, nodes, n)).collect();
        let own = vec![0.0; parts[node].len()];
        let none = || (0..nodes).map(|_| vec![]).collect();
        Self {
            codec,
            node,
            kept: vec![0.0; len],
            kept_of_total: own.clone(),
            written: none(),
            came: none(),
            total: own.clone(),
            term: own,
            parts,
        }
    }

    /// What was lost so far and not sent yet: of the parts sent, and of this node's totals.
    pub(crate) fn residuals(&mut self) -> [&mut [f32]; 2] {
        [&mut self.kept, &mut self.kept_of_total]
    }

    /// What is kept, each number where it lies in the vector: of this node's own part that of its totals.
    pub(crate) fn save(&self, into: &mut [f32]) {
        into.copy_from_slice(&self.kept);
        into[self.parts[self.node].clone()].copy_from_slice(&self.kept_of_total);
    }

    /// Sets what [`Coded::save`] told.
    pub(crate) fn restore(&mut self, from: &[f32]) {
        let own = self.parts[self.node].clone();
        self.kept.copy_from_slice(from);
        self.kept[own.clone()].fill(0.0);
        self.kept_of_total.copy_from_slice(&from[own]);
    }

    /// Sums over all nodes, in place. The tags are those of the parts and of the totals.
    pub(crate) fn reduce(
        &mut self,
        peers: &mut dyn Peers,
        [parts, totals]: [Tag; 2],
        numbers: &mut [f32],
        heads: Heads<'_>,
    ) -> Result<(), Broken> {
        self.exchange_parts(peers, parts, numbers, heads)?;
        self.sum(peers, parts, numbers)?;
        self.exchange_totals(peers, totals)?;
        for (n, part) in self.parts.iter().enumerate() {
            let bytes = if n == self.node { &self.written[n] } else { &self.came[n] };
            let read = self.codec.decode(bytes, &mut numbers[part.clone()]);
            read.map_err(|e| unreadable(peers, n, totals, e))?;
        }
        Ok(())
    }

    fn exchange_parts(
        &mut self,
        peers: &mut dyn Peers,
        tag: Tag,
        numbers: &[f32],
        Heads { mine, all }: Heads<'_>,
    ) -> Result<(), Broken> {
        let Self { codec, node, parts, kept, written, came, .. } = self;
        for (n, (part, written)) in parts.iter().zip(&mut *written).enumerate() {
            if n != *node {
                codec.encode(&numbers[part.clone()], &mut kept[part.clone()], written);
            }
        }
        let coming = codec.encoded_len(parts[*node].len());
        came.iter_mut().for_each(|came| came.resize(coming, 0));
        let mut out: Vec<_> = written.iter().map(|body| Some(Outgoing { head: mine, body })).collect();
        let rooms = all.iter_mut().zip(came);
        let mut into: Vec<_> = rooms.map(|(head, body)| Some(Incoming { head, body })).collect();
        (out[*node], into[*node]) = (None, None);
        peers.exchange(tag, &out, &mut into)
    }

    /// Sums this node's part, and writes the total.
    fn sum(&mut self, peers: &dyn Peers, tag: Tag, numbers: &[f32]) -> Result<(), Broken> {
        let Self { codec, node, parts, came, total, term, .. } = self;
        for (n, came) in came.iter().enumerate() {
            let into = if n == 0 { &mut *total } else { &mut *term };
            if n == *node {
                into.copy_from_slice(&numbers[parts[n].clone()]);
            } else {
                codec.decode(came, into).map_err(|e| unreadable(peers, n, tag, e))?;
            }
            if n > 0 {
                add(total, term);
            }
        }
        codec.encode(total, &mut self.kept_of_total, &mut self.written[*node]);
        Ok(())
    }

    fn exchange_totals(&mut self, peers: &mut dyn Peers, tag: Tag) -> Result<(), Broken> {
        let Self { codec, node, parts, written, came, .. } = self;
        let mut out = vec![Some(Outgoing { head: &[], body: &written[*node] }); parts.len()];
        for (came, part) in came.iter_mut().zip(parts) {
            came.resize(codec.encoded_len(part.len()), 0);
        }
        let mut into: Vec<_> = came.iter_mut().map(|body| Some(Incoming { head: &mut [], body })).collect();
        (out[*node], into[*node]) = (None, None);
        peers.exchange(tag, &out, &mut into)
    }
}

/// What a node sent is no encoding.
fn unreadable(peers: &dyn Peers, node: usize, tag: Tag, error: CodecError) -> Broken {
    Broken::Node {
        node: peers.name(node).into(),
        cause: format!("what it sent of {tag} cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
