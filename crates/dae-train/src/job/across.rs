//! A run's nodes, as one of them sees them.

use super::{Facts, JobError, Standing};
use crate::actors::KeptBack;
use crate::layout::Layout;
use crate::topology::Plan;
use dae_actor::{Peer, PeerLimits, Registry};
use dae_collective::{Broken, Incoming, Means, Outgoing, Peers, Phase, Probed, Tag};
use std::ops::Range;

/// The longest encoding of [`Facts`] that is taken.
const MOST_FACTS: usize = 1 << 16;
/// The state goes to the other nodes in pieces of so many numbers: 4 MiB.
const PIECE: usize = 1 << 20;

/// Makes the far ends of the links that actors have to other nodes, in the order of the nodes: to all from the first, and
/// to the first from all. It is called on the thread of the actors' system, with those who may be spoken to from there.
pub type Connect = Box<dyn FnOnce(Registry, PeerLimits) -> Vec<Option<Peer>> + Send>;

/// Where this process stands among the nodes of its run.
pub struct Across {
    /// Which of them it is. The first has the run folder: it writes checkpoints and the log, and resumes.
    pub node: usize,
    /// What people call them, in order.
    pub names: Vec<String>,
    /// For each local worker in order its own links to the workers of the same number on the other nodes.
    pub peers: Vec<Box<dyn Peers>>,
    /// Links for actors, where the children of a join lie on several nodes.
    pub connect: Option<Connect>,
}

impl Across {
    /// One node, which needs no links.
    pub(super) fn alone() -> Self {
        Self { node: 0, names: vec![String::new()], peers: vec![], connect: None }
    }

    pub(super) fn nodes(&self) -> usize {
        self.names.len()
    }

    /// Whether these are the nodes that a plan asks for.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), JobError> {
        let (nodes, here) = (self.nodes(), self.peers.len());
        if plan.nodes() != nodes {
            let word = plan.word().to_string();
            return Err(JobError::OtherNodes { word, wanted: plan.nodes(), nodes });
        }
        let placed = |p: &dyn Peers| (p.nodes(), p.node()) == (nodes, self.node);
        let linked = here == plan.linked_workers() && self.peers.iter().all(|p| placed(&**p));
        if self.node >= nodes || nodes > 1 && !linked {
            let (node, workers) = (self.node, plan.linked_workers());
            return Err(JobError::Links { node, nodes, workers, links: here });
        }
        if plan.apart() && self.connect.is_none() {
            return Err(JobError::Unlinked("any other node".into()));
        }
        Ok(())
    }

    /// Compares with the other nodes what all go by, and returns where the first says that the run goes on; `here` is
    /// what this one says.
    pub(super) fn agreed(
        &mut self,
        here: Option<Standing>,
        facts: impl FnOnce() -> Facts,
    ) -> Result<Option<Standing>, JobError> {
        let names = &self.names;
        let Some(peers) = self.peers.first_mut().filter(|_| names.len() > 1) else { return Ok(here) };
        let mine = Facts { standing: here, ..facts() };
        let encoded = serde_json::to_vec(&mine).map_err(|e| JobError::Facts(e.to_string()))?;
        let sizes = all(
            &mut **peers,
            Phase::FactsLength,
            &(encoded.len() as u64).to_le_bytes(),
            &vec![8; names.len()],
        )?;
        let sizes: Vec<_> = sizes
            .iter()
            .map(|size| size.as_slice().try_into().map_or(0, u64::from_le_bytes) as usize)
            .collect();
        if let Some(n) = sizes.iter().position(|size| *size > MOST_FACTS) {
            return Err(JobError::Facts(format!("{} bytes of facts from {}", sizes[n], names[n])));
        }
        let said = all(&mut **peers, Phase::Facts, &encoded, &sizes)?;
        let mut facts = Vec::new();
        for (said, name) in said.iter().zip(names) {
            let read = serde_json::from_slice::<Facts>(said);
            facts.push(read.map_err(|e| JobError::Facts(format!("those of {name}: {e}")))?);
        }
        // All nodes compare the same and come to the same end.
        let first = facts.remove(0);
        let others = facts.iter().zip(&names[1..]);
        let differences: Vec<_> =
            others.flat_map(|(f, name)| first.differences(f, [&names[0], name])).collect();
        match differences.is_empty() {
            true => Ok(first.standing),
            false => Err(JobError::NodesDiffer(differences)),
        }
    }

    /// Sends the first node's numbers to these others, in pieces.
    pub(super) fn share<'a>(
        &mut self,
        to: Range<usize>,
        numbers: impl Iterator<Item = &'a mut Vec<f32>>,
    ) -> Result<(), Broken> {
        let (node, nodes) = (self.node, self.names.len());
        let about = nodes > 1 && (node == 0 || to.contains(&node));
        let Some(peers) = self.peers.first_mut().filter(|_| about) else { return Ok(()) };
        for (step, piece) in (1..).zip(numbers.flat_map(|n| n.chunks_mut(PIECE))) {
            let tag = Tag::new(1, step, Phase::State);
            let mut out = vec![None; nodes];
            let mut into: Vec<_> = (0..nodes).map(|_| None).collect();
            match node {
                0 => out[to.clone()].fill(Some(Outgoing::numbers(piece))),
                _ => into[0] = Some(Incoming::numbers(piece)),
            }
            peers.exchange(tag, &out, &mut into)?;
        }
        Ok(())
    }

    /// Sends each other node its own of these buffers, which the first has, and all of them those that follow, in pieces;
    /// each is `len` numbers long. Comes back with this node's own, and what all have.
    pub(super) fn deal(
        &mut self,
        mut kept: Vec<Vec<f32>>,
        common: bool,
        len: usize,
    ) -> Result<KeptBack, Broken> {
        let (node, nodes) = (self.node, self.names.len());
        kept.resize(nodes + usize::from(common), vec![]);
        let (owns, thin) = kept.split_at_mut(nodes);
        let Some(peers) = self.peers.first_mut().filter(|_| nodes > 1) else {
            return Ok(KeptBack::default());
        };
        if node > 0 {
            owns[node].resize(len, 0.0);
            thin.iter_mut().for_each(|thin| thin.resize(len, 0.0));
        }
        let stretches = (0..len).step_by(PIECE).map(|at| at..(at + PIECE).min(len));
        let pieces = stretches.flat_map(|at| (0..=usize::from(common)).map(move |which| (which, at.clone())));
        for (step, (which, at)) in (1..).zip(pieces) {
            let tag = Tag::new(1, step, Phase::Kept);
            let mut into: Vec<_> = (0..nodes).map(|_| None).collect();
            if node == 0 {
                let from = |n: usize| if which == 0 { &owns[n][at.clone()] } else { &thin[0][at.clone()] };
                let out: Vec<_> = (0..nodes).map(|n| (n > 0).then(|| Outgoing::numbers(from(n)))).collect();
                peers.exchange(tag, &out, &mut into)?;
            } else {
                let place = if which == 0 { &mut owns[node] } else { &mut thin[0] };
                into[0] = Some(Incoming::numbers(&mut place[at]));
                peers.exchange(tag, &vec![None; nodes], &mut into)?;
            }
        }
        let thin = thin.first_mut().map(std::mem::take).unwrap_or_default();
        Ok(KeptBack { own: std::mem::take(&mut owns[node]), thin })
    }

    /// How sums over nodes of a model of this layout are made: as the schedule says, or by the algorithm that costs least between
    /// these very nodes where all give the same bits, and in the order of nodes otherwise.
    pub(super) fn means(&mut self, plan: &Plan, layout: &Layout) -> Result<Means, Broken> {
        let nodes = self.names.len();
        let sums = nodes > 1 && !plan.apart();
        let Some(peers) = self.peers.first_mut().filter(|_| sums) else { return Ok(Means::default()) };
        if let Some(means) = plan.means(layout) {
            return Ok(means);
        }
        // Two numbers have one sum in either order, and integers in any.
        if nodes > 2 && !plan.exact() {
            return Ok(Means::default());
        }
        let bytes = layout.len().div_ceil(plan.workers_per_node()) * if plan.exact() { 8 } else { 4 };
        let choice = Probed::probe(&mut **peers, 1)?.choose(bytes);
        tracing::info!(bytes, algorithm = %choice.algorithm, reason = choice.reason, "sums over nodes");
        Ok(Means::Plain(choice.algorithm))
    }

    /// Tells the other nodes why this one does not come.
    pub(super) fn abort(&mut self, cause: &str) {
        self.peers.iter_mut().for_each(|peers| peers.abort(cause));
    }
}

/// The bytes of every node.
fn all(peers: &mut dyn Peers, phase: Phase, mine: &[u8], sizes: &[usize]) -> Result<Vec<Vec<u8>>, Broken> {
    let node = peers.node();
    let mut said: Vec<_> = sizes.iter().map(|size| vec![0; *size]).collect();
    let mut out = vec![Some(Outgoing { head: mine, body: &[] }); sizes.len()];
    let mut into: Vec<_> = said.iter_mut().map(|head| Some(Incoming { head, body: &mut [] })).collect();
    (out[node], into[node]) = (None, None);
    peers.exchange(Tag::new(1, 0, phase), &out, &mut into)?;
    said[node] = mine.to_vec();
    Ok(said)
}
