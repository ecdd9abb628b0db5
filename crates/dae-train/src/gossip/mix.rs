//! What one peer does at one turn.

use dae_schedule::Gossip;

/// What one peer does at one turn: it adds what its round has come to, sends what it then holds, and takes of its own and of
/// what others send. It waits for all that it takes; whoever exchanges numbers names the same turn, and the turns of a peer
/// rise. So peers that do as they are told, each in the order it was told, never wait in a circle.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// Which peer.
    pub peer: usize,
    /// The turn.
    pub turn: u64,
    /// The round of its own that has ended, if one has.
    pub own: Option<u64>,
    /// Who is sent what it holds.
    pub to: Vec<usize>,
    /// Whose is taken, in the order it is summed.
    pub from: Vec<usize>,
    /// What the sum of the others is multiplied with, before it is added to its own; 0 where they are only waited for.
    pub theirs: f64,
    /// What all that is multiplied with.
    pub share: f64,
}

impl Mix {
    /// A peer's part in a round for all: equal shares of its own and of what reaches it. `own` says whether it has done a
    /// round itself.
    pub fn in_round(gossip: &Gossip, peer: usize, round: u64, own: bool) -> Self {
        let n = gossip.n as usize;
        let from = gossip.graph.sources(n, peer, round);
        let share = 1.0 / (from.len() + 1) as f64;
        let (to, own) = (gossip.graph.targets(n, peer, round), own.then_some(round));
        Self { peer, turn: round, own, to, from, theirs: 1.0, share }
    }
}

/// Who meets whom where peers wait for nobody: each after its round by itself with one neighbour, whatever that one is doing
/// (AD-PSGD; Lian et al. 2018).
#[derive(Debug, Clone)]
pub struct Pairs {
    gossip: Gossip,
    seed: u64,
}

impl Pairs {
    /// By this graph, and by this seed where it leaves a choice.
    pub fn new(gossip: Gossip, seed: u64) -> Self {
        Self { gossip, seed }
    }

    /// What is done when a peer has ended a round: it and its neighbour meet in the middle; with `push` it sends half of what
    /// it holds. Then it takes nothing, and yet waits until the other has come to it, so that what is sent to one whose
    /// thread is slow does not pile up.
    pub fn meet(&self, turn: u64, peer: usize, round: u64) -> Vec<Mix> {
        let Gossip { n, push, ref graph, .. } = self.gossip;
        let mix = |peer, to: &[usize], from: &[usize], theirs, share| {
            let (to, from) = (to.to_vec(), from.to_vec());
            Mix { peer, turn, own: None, to, from, theirs, share }
        };
        let own = |mix| Mix { own: Some(round), ..mix };
        match graph.partner(n as usize, peer, round, self.seed) {
            None => vec![own(mix(peer, &[], &[], 0.0, 1.0))],
            Some(other) if push => {
                vec![own(mix(peer, &[other], &[other], 0.0, 0.5)), mix(other, &[peer], &[peer], 0.5, 1.0)]
            }
            Some(other) => {
                vec![own(mix(peer, &[other], &[other], 1.0, 0.5)), mix(other, &[peer], &[peer], 1.0, 0.5)]
            }
        }
    }
}
