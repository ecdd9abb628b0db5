//! [`Peers`]: `gossip n`, peers that mix with their neighbours, without a centre.

use super::process::{Motion, Process, Report};
use super::tape::Tape;
use super::trajectory::Push;
use super::world::World;
use crate::gossip::Gossip;

/// Peers while they run. After its round a peer mixes its parameters with those of its neighbours: all at once (D-PSGD;
/// Lian et al. 2017), or each by itself with one of them, whatever that one is doing (`sync=async`, AD-PSGD; Lian et
/// al. 2018). With `push` a weight travels along, and the parameters are what is held over its weight (SGP; Assran et
/// al. 2019): then a peer may send without being sent to.
pub(super) struct Peers {
    gossip: Gossip,
    /// Which item of the word, and which of its instances.
    id: (usize, usize),
    peers: Vec<Peer>,
    now: f64,
    rounds: u64,
    /// How often peers have mixed in pairs.
    mixed: u64,
    /// What was reported last.
    mean: Vec<f32>,
}

struct Peer {
    process: Process,
    /// What is held: the parameters times the weight.
    mass: Vec<f32>,
    /// 1, but with `push`.
    weight: f64,
    clock: u64,
    /// How often peers had mixed when it began its last round.
    read: u64,
    /// A round under way: what it began from, and what it will report.
    flight: Option<(Vec<f32>, Report)>,
}

impl Peers {
    pub(super) fn new(gossip: Gossip, id: (usize, usize), processes: Vec<Process>, x: &[f32]) -> Self {
        let peer = |process| Peer { process, mass: x.to_vec(), weight: 1.0, clock: 0, read: 0, flight: None };
        let peers = processes.into_iter().map(peer).collect();
        Self { gossip, id, peers, now: 0.0, rounds: 0, mixed: 0, mean: x.to_vec() }
    }

    pub(super) fn round(&mut self, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
        self.now = self.now.max(start);
        if !x.iter().map(|x| x.to_bits()).eq(self.mean.iter().map(|x| x.to_bits())) {
            for peer in &mut self.peers {
                (peer.mass, peer.weight) = (x.to_vec(), 1.0);
            }
        }
        let (mut weight, mut loss) = (0.0, 0.0);
        if self.gossip.asynchronous {
            // As many rounds end as there are peers, whosever they are.
            for _ in 0..self.peers.len() {
                (0..self.peers.len()).for_each(|index| self.begin(world, index));
                let Some(index) = self.next(world) else { break };
                let (more, lost) = self.arrive(index);
                (weight, loss) = (weight + more, loss + lost);
                self.mix_with_one(index, world.setting.seed);
                self.book(world, index);
            }
        } else {
            self.peers.iter_mut().for_each(|peer| peer.begin(world, self.now));
            for index in 0..self.peers.len() {
                let (more, lost) = self.arrive(index);
                (weight, loss) = (weight + more, loss + lost);
            }
            self.mix_all();
        }
        self.rounds += 1;
        self.mean = mean(&self.replicas());
        Report { motion: Motion::Value(self.mean.clone()), weight, loss, end: self.now }
    }

    /// What is still to come of the mixings that are repeated, if that is what this run does.
    fn script<'a>(&self, world: &World<'a>) -> Option<impl Iterator<Item = &'a Push> + use<'a>> {
        let (id, mixed) = (self.id, self.mixed as usize);
        world.setting.replay.map(|all| all.iter().filter(move |push| push.centre == id).skip(mixed))
    }

    /// A peer that waits for nobody begins a round.
    fn begin(&mut self, world: &mut World<'_>, index: usize) {
        if let Some(mut script) = self.script(world)
            && script.find(|push| push.worker == index).is_none_or(|push| push.read != self.mixed)
        {
            return;
        }
        let peer = &mut self.peers[index];
        if peer.flight.is_none() {
            peer.read = self.mixed;
        }
        peer.begin(world, self.now);
    }

    /// Two have mixed, or one with nobody: what was left to chance is written down.
    fn book(&mut self, world: &mut World<'_>, index: usize) {
        self.mixed += 1;
        let Peer { clock, read, .. } = self.peers[index];
        world.log.push(Push {
            centre: self.id,
            worker: index,
            round: clock - 1,
            read,
            applied: Some(self.mixed),
            time: self.now,
        });
    }

    /// Whose round ends next: the earliest, and of those that are equal the first.
    fn next(&self, world: &World<'_>) -> Option<usize> {
        if let Some(mut script) = self.script(world) {
            return script.next().map(|push| push.worker).filter(|peer| self.peers[*peer].flight.is_some());
        }
        let ends = self
            .peers
            .iter()
            .enumerate()
            .filter_map(|(index, peer)| Some((peer.flight.as_ref()?.1.end, index)));
        ends.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
    }

    /// A peer's round ends: its displacement is added to what it holds by now.
    fn arrive(&mut self, index: usize) -> (f64, f64) {
        let peer = &mut self.peers[index];
        let Some((from, report)) = peer.flight.take() else { return (0.0, 0.0) };
        self.now = self.now.max(report.end);
        peer.clock += 1;
        for ((mass, from), to) in peer.mass.iter_mut().zip(&from).zip(report.motion.numbers()) {
            let moved = f64::from(*mass) + (f64::from(*to) - f64::from(*from));
            *mass = if mass == from { *to } else { moved as f32 };
        }
        (report.weight, report.loss)
    }

    /// Every peer takes equal shares of its own and of what reaches it.
    fn mix_all(&mut self) {
        let held: Vec<(Vec<f32>, f64)> =
            self.peers.iter().map(|peer| (peer.mass.clone(), peer.weight)).collect();
        for (index, peer) in self.peers.iter_mut().enumerate() {
            let sources = self.gossip.graph.sources(held.len(), index, self.rounds);
            let share = 1.0 / (sources.len() + 1) as f64;
            let own = if mutated!(MixLosesMass) && share < 1.0 { 0.9 } else { 1.0 };
            for (at, mass) in peer.mass.iter_mut().enumerate() {
                let others: f64 = sources.iter().map(|source| f64::from(held[*source].0[at])).sum();
                *mass = ((f64::from(held[index].0[at]) * own + others) * share) as f32;
            }
            if self.gossip.push {
                peer.weight =
                    (held[index].1 + sources.iter().map(|source| held[*source].1).sum::<f64>()) * share;
            }
        }
    }

    /// One peer and one of its neighbours meet in the middle; with `push` it sends half of what it holds.
    fn mix_with_one(&mut self, index: usize, seed: u64) {
        let (n, round) = (self.peers.len(), self.peers[index].clock - 1);
        let Some(other) = self.gossip.graph.partner(n, index, round, seed) else { return };
        let Ok([peer, other]) = self.peers.get_disjoint_mut([index, other]) else { return };
        let own = if mutated!(MixLosesMass) { 0.9 } else { 1.0 };
        for (a, b) in peer.mass.iter_mut().zip(&mut other.mass) {
            let (x, y) = (f64::from(*a) * own, f64::from(*b));
            let (kept, given) =
                if self.gossip.push { (x / 2.0, y + x / 2.0) } else { ((x + y) / 2.0, (x + y) / 2.0) };
            (*a, *b) = (kept as f32, given as f32);
        }
        if self.gossip.push {
            let half = peer.weight / 2.0;
            peer.weight = half;
            other.weight += if mutated!(PushWithoutWeight) { 0.0 } else { half };
        }
    }

    pub(super) fn replicas(&self) -> Vec<Vec<f32>> {
        self.peers.iter().map(Peer::parameters).collect()
    }

    pub(super) fn inner(&mut self) -> impl Iterator<Item = &mut Process> {
        self.peers.iter_mut().map(|peer| &mut peer.process)
    }

    /// What each peer holds, and its weight.
    #[cfg(test)]
    pub(super) fn held(&self) -> impl Iterator<Item = (&[f32], f64)> {
        self.peers.iter().map(|peer| (&peer.mass[..], peer.weight))
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        tape.float(&mut self.now);
        tape.number(&mut self.rounds);
        tape.number(&mut self.mixed);
        tape.floats(&mut self.mean);
        let parameters = self.mean.len();
        for peer in &mut self.peers {
            tape.floats(&mut peer.mass);
            tape.float(&mut peer.weight);
            tape.number(&mut peer.clock);
            tape.number(&mut peer.read);
            tape.maybe(
                &mut peer.flight,
                || (vec![0.0; parameters], Report::blank(parameters)),
                |tape, (from, report)| {
                    tape.floats(from);
                    report.tape(tape);
                },
            );
            peer.process.tape(tape);
        }
    }
}

impl Peer {
    fn begin(&mut self, world: &mut World<'_>, now: f64) {
        if self.flight.is_none() {
            let from = self.parameters();
            let report = self.process.round(world, &from, now);
            self.flight = Some((from, report));
        }
    }

    fn parameters(&self) -> Vec<f32> {
        if self.weight == 1.0 {
            return self.mass.clone();
        }
        self.mass.iter().map(|mass| (f64::from(*mass) / self.weight) as f32).collect()
    }
}

/// The mean at each place; of one, its very bits.
fn mean(all: &[Vec<f32>]) -> Vec<f32> {
    let n = all.len() as f64;
    let at = |at: usize| all.iter().map(|x| f64::from(x[at])).sum::<f64>() / n;
    (0..all.first().map_or(0, Vec::len)).map(|place| at(place) as f32).collect()
}
