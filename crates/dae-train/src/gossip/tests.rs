//! Circles and mailboxes together, in any order in which messages may come: what they come to is a function of the rounds.

use super::{Act, Circle, Holding, Letter, Mailbox, Pairs, Task, mean};
use crate::centre::{Arrival, Order};
use dae_schedule::Gossip;
use dae_schedule::testing::gossip;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a peer's round makes of parameters.
fn trained(peer: usize, round: u64, from: &[f32]) -> Vec<f32> {
    let bend = |(at, x): (usize, &f32)| x * 0.75 + (peer + at + 2 * round as usize) as f32 * 0.37;
    from.iter().enumerate().map(bend).collect()
}

fn begun(gossip: &Gossip) -> Vec<Holding> {
    let start = [0.3, -0.0, -7.25];
    (0..gossip.n).map(|_| Holding::new(start.to_vec(), 1.0, gossip.push)).collect()
}

/// A message on its way.
#[derive(Debug)]
enum Message {
    Task(Task),
    Letter(Letter),
    Push(u64, Vec<f32>),
}

/// A gossip whose messages are delivered in an order that chance decides; those from one to another keep theirs.
struct World {
    gossip: Gossip,
    circle: Circle,
    mailboxes: Vec<Mailbox>,
    /// For each peer those of the coordinator, of its child, and of each peer.
    queues: Vec<Vec<VecDeque<Message>>>,
    /// What children have told the coordinator.
    arrivals: VecDeque<Arrival>,
    left: Vec<u64>,
    ended: Vec<u64>,
    begun: Vec<Option<u64>>,
    fired: Vec<Vec<Arrival>>,
    version: u64,
    quiet: u64,
    pause_every: u64,
    chance: u64,
}

impl World {
    fn new(
        gossip: &Gossip,
        held: Vec<Holding>,
        left: &[u64],
        version: u64,
        pause_every: u64,
        chance: u64,
    ) -> Self {
        let n = gossip.n as usize;
        let circle = Circle::new(gossip.clone(), version, left.iter().copied()).pause_every(pause_every);
        let mailboxes =
            held.into_iter().enumerate().map(|(index, held)| Mailbox::new(index, held, version)).collect();
        Self {
            gossip: gossip.clone(),
            circle,
            mailboxes,
            queues: (0..n).map(|_| (0..n + 2).map(|_| VecDeque::new()).collect()).collect(),
            arrivals: VecDeque::new(),
            left: left.iter().map(|left| version + left).collect(),
            ended: vec![version; n],
            begun: vec![None; n],
            fired: vec![],
            version,
            quiet: 0,
            pause_every,
            chance,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as usize % below
    }

    fn order(&mut self, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Mix(mix) => self.queues[mix.peer][0].push_back(Message::Task(Task::Mix(mix))),
                Order::Begin { child, round } => {
                    let sources = |round| self.gossip.graph.sources(self.ended.len(), child, round);
                    let waits = round.checked_sub(1).map(sources).unwrap_or_default();
                    assert!(waits.iter().all(|source| self.ended[*source] >= round.min(self.left[*source])));
                    assert_eq!((self.begun[child], self.ended[child].max(round)), (None, round));
                    assert!(round < self.left[child], "it has no data for it");
                    self.begun[child] = Some(round);
                    self.queues[child][0].push_back(Message::Task(Task::Serve { round, copy: false }));
                }
                Order::Fire { version, given } => {
                    self.fired.push(given);
                    self.version += 1;
                    assert_eq!(version, self.version);
                }
                Order::Quiet => {
                    assert!(self.begun.iter().all(Option::is_none) && self.arrivals.is_empty());
                    assert!(self.circle.version().is_multiple_of(self.pause_every));
                    self.quiet += 1;
                    let orders = self.circle.release();
                    self.order(orders);
                }
                Order::Leave { child } => assert!(self.begun[child].is_none()),
                Order::Drop { .. } => unreachable!(),
            }
        }
    }

    fn act(&mut self, peer: usize, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Send { to, letter } => self.queues[to][2 + peer].push_back(Message::Letter(letter)),
                Act::Serve { round, params, .. } => {
                    let push = Message::Push(round, trained(peer, round, &params));
                    self.queues[peer][1].push_back(push);
                    let (last, samples) = (round + 1 == self.left[peer], peer as u64 + 1);
                    self.arrivals.push_back(Arrival { child: peer, round, samples, loss: 0.0, last });
                }
                Act::Show => unreachable!(),
            }
        }
    }

    /// Where messages wait: to whom, from whom.
    fn waiting(&self) -> Vec<(usize, usize)> {
        let n = self.queues.len();
        let all = (0..n).flat_map(|peer| (0..n + 2).map(move |from| (peer, from)));
        all.filter(|(peer, from)| !self.queues[*peer][*from].is_empty()).collect()
    }

    /// Delivers one message; false if there is none.
    fn step(&mut self) -> bool {
        let n = self.queues.len();
        let bound = |queues: &Vec<VecDeque<_>>| queues.iter().map(VecDeque::len).sum::<usize>() <= 4 * n + 16;
        assert!(self.queues.iter().all(bound), "a mailbox would be full");
        let waiting = self.waiting();
        if !self.arrivals.is_empty() && (waiting.is_empty() || self.draw(3) == 0) {
            let at = self.draw(self.arrivals.len());
            let arrival = self.arrivals.remove(at).unwrap();
            (self.ended[arrival.child], self.begun[arrival.child]) = (arrival.round + 1, None);
            let orders = self.circle.arrive(arrival);
            self.order(orders);
            assert_eq!(self.circle.arrive(arrival), [], "it is booked");
            return true;
        }
        self.deliver(&waiting)
    }

    /// Delivers one of these messages, if there are any: from whom to whom.
    fn deliver(&mut self, waiting: &[(usize, usize)]) -> bool {
        if waiting.is_empty() {
            return false;
        }
        let (peer, from) = waiting[self.draw(waiting.len())];
        let mailbox = &mut self.mailboxes[peer];
        let acts = match self.queues[peer][from].pop_front().unwrap() {
            Message::Task(task) => mailbox.told(task),
            Message::Letter(letter) => mailbox.received(letter).unwrap(),
            Message::Push(round, params) => {
                let acts = mailbox.pushed(round, params.clone()).unwrap();
                assert!(mailbox.pushed(round, vec![0.0; 3]).unwrap().is_empty(), "it counts once");
                acts
            }
        };
        self.act(peer, acts);
        true
    }

    /// Runs to the end, or with a stop after so many messages.
    fn run(mut self, stop: Option<u32>) -> Self {
        let orders = self.circle.begin();
        self.order(orders);
        for count in 0_u32.. {
            if stop == Some(count) {
                let orders = self.circle.stop();
                self.order(orders);
            }
            if !self.step() {
                break;
            }
        }
        assert!(self.circle.through(), "{:?}", self.circle);
        self
    }

    fn held(&self) -> Vec<Holding> {
        self.mailboxes.iter().map(|mailbox| mailbox.holding().clone()).collect()
    }
}

/// The same, one round after the other, as it is defined.
fn in_order(gossip: &Gossip, left: &[u64], rounds: u64) -> Vec<Holding> {
    let mut held = begun(gossip);
    for round in 0..rounds {
        for (peer, held) in held.iter_mut().enumerate().filter(|(peer, _)| round < left[*peer]) {
            let from = held.parameters();
            held.arrive(&from, &trained(peer, round, &from));
        }
        mixed(gossip, &mut held, round);
    }
    held
}

fn mixed(gossip: &Gossip, held: &mut [Holding], round: u64) {
    let before: Vec<_> = held.iter().map(|held| (held.mass().clone(), held.weight())).collect();
    for (peer, held) in held.iter_mut().enumerate() {
        let sources = gossip.graph.sources(before.len(), peer, round);
        let others: Vec<_> = sources.iter().map(|source| before[*source].clone()).collect();
        held.mix(&others, 1.0, 1.0 / (others.len() + 1) as f64);
    }
}

/// Two that meet: in the middle, or with `push` the second gets half of what the first has.
fn met(a: &Holding, b: &Holding, push: bool) -> (Holding, Holding) {
    let both = a.mass().iter().zip(&**b.mass()).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let pair =
        |(a, b): (f64, f64)| if push { (a / 2.0, b + a / 2.0) } else { ((a + b) / 2.0, (a + b) / 2.0) };
    let (kept, given) = both.map(pair).map(|(a, b)| (a as f32, b as f32)).unzip();
    let half = a.weight() / 2.0;
    let (kept_weight, given_weight) = if push { (half, b.weight() + half) } else { (1.0, 1.0) };
    (Holding::new(kept, kept_weight, push), Holding::new(given, given_weight, push))
}

fn rounds() -> impl Strategy<Value = (Gossip, Vec<u64>)> {
    let left = |gossip: Gossip| {
        let n = gossip.n as usize;
        (Just(Gossip { asynchronous: false, ..gossip }), prop::collection::vec(0..7_u64, n..=n))
    };
    (gossip(), 2..8_u32).prop_map(|(gossip, n)| Gossip { n, ..gossip }).prop_flat_map(left)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_order_of_messages_comes_to_the_same(
        (gossip, left) in rounds(), pause_every in 0..4_u64, chance: u64,
    ) {
        let world = World::new(&gossip, begun(&gossip), &left, 0, pause_every, chance).run(None);
        let last = left.iter().copied().max().unwrap();
        prop_assert_eq!(world.held(), in_order(&gossip, &left, last));
        let own = |round| (0..left.len()).filter(|peer| round < left[*peer]).collect::<Vec<_>>();
        prop_assert_eq!(world.fired.len() as u64, last);
        for (round, given) in (0..).zip(&world.fired) {
            prop_assert!(given.iter().all(|each| each.round == round));
            prop_assert_eq!(given.iter().map(|each| each.child).collect::<Vec<_>>(), own(round));
        }
        let pauses = last.saturating_sub(1).checked_div(pause_every).unwrap_or(0);
        prop_assert_eq!(world.quiet, pauses);
    }

    #[test]
    fn who_is_stopped_goes_on_as_if_nothing_had_been(
        (gossip, left) in rounds(), stop in 0..200_u32, chance: u64,
    ) {
        let first = World::new(&gossip, begun(&gossip), &left, 0, 0, chance).run(Some(stop));
        let (version, last) = (first.circle.version(), left.iter().copied().max().unwrap());
        prop_assert_eq!(first.held(), in_order(&gossip, &left, version));
        let rest: Vec<_> = left.iter().map(|left| left.saturating_sub(version)).collect();
        let then = World::new(&gossip, first.held(), &rest, version, 0, chance).run(None);
        prop_assert_eq!(then.held(), in_order(&gossip, &left, last));
    }

    /// Peers that wait for nobody, ended in this order.
    #[test]
    fn pairs_meet_as_if_one_after_the_other(
        (gossip, _) in rounds(), ends in prop::collection::vec(0..8_usize, 1..30), chance: u64,
    ) {
        let gossip = Gossip { asynchronous: true, ..gossip };
        let (n, pairs) = (gossip.n as usize, Pairs::new(gossip.clone(), 5));
        let mut world = World::new(&gossip, begun(&gossip), &vec![0; n], 0, 0, chance);
        let mut held: Vec<_> = begun(&gossip);
        let mut from: Vec<_> = held.iter().map(Holding::parameters).collect();
        let mut clocks = vec![0; n];
        let serve = |round| Message::Task(Task::Serve { round, copy: false });
        world.queues.iter_mut().for_each(|queues| queues[0].push_back(serve(0)));
        for (turn, peer) in (1..).zip(ends.iter().map(|peer| peer % n)) {
            let round = clocks[peer];
            clocks[peer] += 1;
            for mix in pairs.meet(turn, peer, round) {
                world.queues[mix.peer][0].push_back(Message::Task(Task::Mix(mix)));
            }
            world.queues[peer][0].push_back(serve(clocks[peer]));
            held[peer].arrive(&from[peer], &trained(peer, round, &from[peer]));
            if let Some(other) = gossip.graph.partner(n, peer, round, 5) {
                let sum = held[peer].weight() + held[other].weight();
                let (a, b) = met(&held[peer], &held[other], gossip.push);
                prop_assert!(!gossip.push || (a.weight() + b.weight() - sum).abs() < 1e-9);
                (held[peer], held[other]) = (a, b);
            }
            from[peer] = held[peer].parameters();
        }
        while world.deliver(&world.waiting()) {}
        prop_assert_eq!(world.held(), held);
    }

    /// M7.
    #[test]
    fn mixing_conserves_the_sum_and_the_weights(
        (gossip, _) in rounds(),
        masses in prop::collection::vec((-100.0..100_f32, 0.01..4_f64), 8),
    ) {
        let mut held: Vec<_> = masses[..gossip.n as usize]
            .iter()
            .map(|(mass, weight)| Holding::new(vec![*mass], if gossip.push { *weight } else { 1.0 }, gossip.push))
            .collect();
        let sums = |held: &[Holding]| {
            let mass: f64 = held.iter().map(|held| f64::from(held.mass()[0])).sum();
            (mass, held.iter().map(Holding::weight).sum::<f64>())
        };
        let (mass, weight) = sums(&held);
        for round in 0..9 {
            mixed(&gossip, &mut held, round);
            let (now, weighs) = sums(&held);
            prop_assert!((now - mass).abs() < 1e-3, "{mass} has become {now}");
            prop_assert!((weighs - weight).abs() < 1e-9, "{weight} has become {weighs}");
        }
    }
}

#[test]
fn a_peer_runs_ahead_of_those_it_does_not_hear() {
    let gossip = Gossip::new(7);
    let mut circle = Circle::new(gossip, 0, [9; 7]);
    let mut begun = circle.begin().len() as u64 - 7;
    // All but the first end their rounds, again and again.
    for round in 0..9 {
        for child in 1..7 {
            let arrival = Arrival { child, round, samples: 1, loss: 0.0, last: false };
            let begins = |order: &&Order| matches!(order, Order::Begin { .. });
            begun += circle.arrive(arrival).iter().filter(begins).count() as u64;
        }
    }
    let ended: Vec<_> = (0..7).map(|peer| circle.clock(peer)).collect();
    assert_eq!((ended, begun), (vec![0, 1, 2, 3, 3, 2, 1], 1 + 2 + 2 + 1));
}

#[test]
fn who_pushes_waits_until_the_other_has_come_to_it() {
    let pairs = Pairs::new(Gossip { push: true, asynchronous: true, ..Gossip::new(2) }, 0);
    let mailbox = |index, mass| Mailbox::new(index, Holding::new(vec![mass], 1.0, true), 0);
    let (mut one, mut two) = (mailbox(0, 8.0), mailbox(1, 2.0));
    one.told(Task::Serve { round: 0, copy: false });
    one.pushed(0, vec![8.0]).unwrap();
    let [own, other] = <[_; 2]>::try_from(pairs.meet(1, 0, 0)).unwrap();
    let letter = |acts: Vec<Act>| match acts.into_iter().next() {
        Some(Act::Send { letter, .. }) => letter,
        act => panic!("{act:?}"),
    };
    let given = letter(one.told(Task::Mix(own)));
    assert!(one.told(Task::Serve { round: 1, copy: false }).is_empty(), "it goes on before it was heard");
    let heard = letter(two.told(Task::Mix(other)));
    assert!(matches!(one.received(heard).unwrap()[..], [Act::Serve { round: 1, .. }]));
    two.received(given).unwrap();
    assert_eq!(one.holding(), &Holding::new(vec![4.0], 0.5, true));
    assert_eq!(two.holding(), &Holding::new(vec![6.0], 1.5, true));
}

#[test]
fn what_does_not_fit_is_told_whose_it_is() {
    let mut mailbox = Mailbox::new(2, Holding::new(vec![0.0; 3], 1.0, false), 0);
    mailbox.told(Task::Serve { round: 0, copy: false });
    assert_eq!(mailbox.pushed(0, vec![1.0]).unwrap_err(), "peer 2 pushed 1 numbers where it has 3");
    let letter = Letter { turn: 0, from: 1, mass: Arc::default(), weight: 1.0 };
    assert_eq!(mailbox.received(letter).unwrap_err(), "peer 1 sent peer 2 0 numbers where it has 3");
}

#[test]
fn the_mean_of_one_is_its_bits() {
    let one = [-0.0, 1.5, f32::MIN_POSITIVE];
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&mean(&[one.to_vec()])), bits(&one));
    assert_eq!(mean(&[vec![1.0], vec![4.0]]), [2.5]);
}
