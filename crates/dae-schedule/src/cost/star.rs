//! The simulation of a join around a centre: pull, run a round, push; updates fire, and what is late is dropped or kept.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::pace::{KEPT, Pace, share};
use super::random::Random;
use crate::join::{Late, SyncTerms};

/// A centre and what is around it.
pub(crate) struct Star<'a> {
    pub(crate) n: u32,
    pub(crate) terms: SyncTerms,
    /// What is older than this is thrown away, in versions.
    pub(crate) drop_above: Option<u64>,
    pub(crate) child: &'a Pace,
    /// The first child, if it is not as the others are.
    pub(crate) marked: Option<&'a Pace>,
    pub(crate) push: Hop,
    pub(crate) pull: Hop,
    pub(crate) latency_s: f64,
    /// The centre's pass over memory for each update.
    pub(crate) update_s: f64,
    /// Seconds of push, wait and pull in which the child may go on.
    pub(crate) hidden_s: f64,
}

/// What a push or a pull takes.
#[derive(Clone, Copy)]
pub(crate) struct Hop {
    /// Seconds on the centre's link: those of several children follow one another.
    pub(crate) centre_s: f64,
    /// Seconds on the child's own link.
    pub(crate) child_s: f64,
}

impl Hop {
    /// Seconds on the child's link after those on the centre's.
    fn rest_s(self) -> f64 {
        (self.child_s - self.centre_s).max(0.0)
    }
}

/// What was seen, after a warm-up.
pub(crate) struct Seen {
    /// How long it took until as many contributions as there are children were accepted, again and again.
    pub(crate) pace: Pace,
    /// The share of contributions that were accepted.
    pub(crate) useful: f64,
    /// Versions between pull and arrival, of those accepted.
    pub(crate) mean_stale: f64,
    pub(crate) most_stale: u64,
    pub(crate) events: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Pull(u32),
    Push(u32),
    Landed(u32),
}

#[derive(Clone, Copy, Default)]
struct Child {
    clock: u64,
    /// The version it has.
    pulled: u64,
    /// When it was ready to push.
    pushed: f64,
}

/// Contributions that a simulation follows, at most: more where there are more children than an eighth of it.
const CONTRIBUTIONS: u64 = 20_000;

struct Simulation<'a> {
    star: &'a Star<'a>,
    /// Times are not negative, so their bits are in their order.
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events: u64,
    children: Vec<Child>,
    /// How many children are at each clock.
    clocks: BTreeMap<u64, u32>,
    /// Who waits until the slowest is at a clock.
    for_slowest: BTreeMap<u64, Vec<u32>>,
    for_update: Vec<u32>,
    version: u64,
    pending: u32,
    in_free: f64,
    out_free: f64,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    landed: u64,
    accepted: u64,
    stale_sum: u64,
    stale_most: u64,
    /// Seconds that children worked.
    worked: f64,
    began: f64,
    block_began: f64,
    blocks: Vec<f64>,
}

impl Star<'_> {
    /// Follows the children for a while; in a number of events that depends on nothing but theirs.
    pub(crate) fn run(&self, random: &mut Random) -> Seen {
        let n = u64::from(self.n);
        // Without chance the first rounds are like the later ones.
        let alike = self.child.is_constant() && self.marked.is_none();
        let rounds = if alike { 100 } else { 1000 };
        let whole = (n * rounds).min(CONTRIBUTIONS).max(n * 8);
        let mut simulation = Simulation::new(self);
        let (other, own) = (self.child.drawer(), self.marked.unwrap_or(self.child).drawer());
        let busy = |child: u32| if child == 0 { self.marked.unwrap_or(self.child) } else { self.child }.busy;
        let (mut now, mut landed) = (0.0, 0);
        while landed < whole
            && let Some((at, event)) = simulation.next()
        {
            now = at;
            match event {
                Event::Pull(child) => simulation.pull(now, child),
                Event::Push(child) => simulation.push(now, child),
                Event::Landed(child) => {
                    landed += 1;
                    simulation.landed(now, child);
                    if landed == whole / 4 {
                        let (began, block_began) = (now, now);
                        simulation.tally = Tally { began, block_began, ..Tally::default() };
                    }
                }
            }
            // A child that has pulled computes.
            if let Event::Pull(child) = event {
                let round = if child == 0 { own(random) } else { other(random) };
                simulation.tally.worked += round * busy(child);
                simulation.computes(now, child, round);
            }
        }
        simulation.seen(now)
    }
}

impl<'a> Simulation<'a> {
    fn new(star: &'a Star<'a>) -> Self {
        let mut simulation = Self {
            star,
            queue: BinaryHeap::new(),
            events: 0,
            children: vec![Child::default(); star.n as usize],
            clocks: BTreeMap::from([(0, star.n)]),
            for_slowest: BTreeMap::new(),
            for_update: Vec::new(),
            version: 0,
            pending: 0,
            in_free: 0.0,
            out_free: 0.0,
            tally: Tally::default(),
        };
        (0..star.n).for_each(|child| simulation.at(0.0, Event::Pull(child)));
        simulation
    }

    fn at(&mut self, time: f64, event: Event) {
        self.events += 1;
        self.queue.push(Reverse((time.to_bits(), self.events, event)));
    }

    fn next(&mut self) -> Option<(f64, Event)> {
        self.queue.pop().map(|Reverse((bits, _, event))| (f64::from_bits(bits), event))
    }

    /// The centre sends what it has.
    fn pull(&mut self, now: f64, child: u32) {
        self.children[child as usize].pulled = self.version;
        self.out_free = self.out_free.max(now) + self.star.pull.centre_s;
    }

    /// A round begins when what was pulled has come; or before, as far as the child may go on without it.
    fn computes(&mut self, now: f64, child: u32, round: f64) {
        let star = self.star;
        let came = self.out_free + star.pull.rest_s() + star.latency_s;
        let began = self.children[child as usize].pushed.max(came - star.hidden_s);
        self.at(now.max(began + round), Event::Push(child));
    }

    fn push(&mut self, now: f64, child: u32) {
        let star = self.star;
        self.children[child as usize].pushed = now;
        self.in_free = self.in_free.max(now) + star.push.centre_s;
        let landed = self.in_free + star.push.rest_s() + star.latency_s;
        self.at(landed, Event::Landed(child));
    }

    fn landed(&mut self, now: f64, child: u32) {
        let SyncTerms { k, late, .. } = self.star.terms;
        let pulled = self.children[child as usize].pulled;
        let stale = self.version - pulled;
        let too_late = late == Late::Drop && k < self.star.n && stale > 0;
        self.tally.landed += 1;
        if !too_late && self.star.drop_above.is_none_or(|most| stale <= most) {
            self.accept(now, stale);
        }
        let slowest = self.tick(child);
        let fired = self.pending >= k;
        if fired {
            (self.version, self.pending) = (self.version + 1, 0);
        }
        // An update takes its pass over memory before anybody sees it.
        let then = if fired { now + self.star.update_s } else { now };
        self.wants(then, child, slowest);
        if fired {
            std::mem::take(&mut self.for_update)
                .into_iter()
                .for_each(|child| self.at(then, Event::Pull(child)));
        }
        while let Some(entry) = self.for_slowest.first_entry()
            && *entry.key() <= slowest
        {
            entry.remove().into_iter().for_each(|child| self.at(then, Event::Pull(child)));
        }
    }

    fn accept(&mut self, now: f64, stale: u64) {
        self.pending += 1;
        let tally = &mut self.tally;
        tally.accepted += 1;
        tally.stale_sum += stale;
        tally.stale_most = tally.stale_most.max(stale);
        if tally.accepted.is_multiple_of(u64::from(self.star.n)) {
            tally.blocks.push(now - tally.block_began);
            tally.block_began = now;
        }
    }

    /// The child is a round further; tells the clock of the slowest.
    fn tick(&mut self, child: u32) -> u64 {
        let clock = &mut self.children[child as usize].clock;
        let before = *clock;
        *clock += 1;
        if let Some(many) = self.clocks.get_mut(&before) {
            *many -= 1;
            if *many == 0 {
                self.clocks.remove(&before);
            }
        }
        *self.clocks.entry(before + 1).or_default() += 1;
        self.clocks.first_key_value().map_or(0, |(clock, _)| *clock)
    }

    /// The child would go on: at once, or when the slowest has come nearer, or when its update has fired.
    fn wants(&mut self, then: f64, child: u32, slowest: u64) {
        let Child { clock, pulled, .. } = self.children[child as usize];
        let SyncTerms { slack, late, .. } = self.star.terms;
        let needs = slack.map_or(0, |slack| clock.saturating_sub(u64::from(slack)));
        if needs > slowest {
            self.for_slowest.entry(needs).or_default().push(child);
        } else if late == Late::Drop && pulled == self.version && self.pending > 0 {
            self.for_update.push(child);
        } else {
            self.at(then, Event::Pull(child));
        }
    }

    fn seen(self, now: f64) -> Seen {
        let Tally { landed, accepted, stale_sum, stale_most, worked, began, blocks, .. } = self.tally;
        let elapsed = now - began;
        let busy = share(worked, elapsed * f64::from(self.star.n));
        let blocks = match blocks.len() {
            // What was accepted stands for whole blocks, however few there were.
            0 => vec![elapsed * f64::from(self.star.n) / (accepted.max(1) as f64)],
            _ => spread(blocks),
        };
        Seen {
            pace: Pace::seen(blocks, busy),
            useful: share(accepted as f64, landed as f64),
            mean_stale: stale_sum as f64 / accepted.max(1) as f64,
            most_stale: stale_most,
            events: self.events,
        }
    }
}

/// As many as are kept, each the mean of its stretch.
fn spread(blocks: Vec<f64>) -> Vec<f64> {
    let stretch = blocks.len().div_ceil(KEPT);
    if stretch == 1 {
        return blocks;
    }
    // Whole stretches only, so that the mean stays that of all of them.
    blocks.chunks_exact(stretch).map(|some| some.iter().sum::<f64>() / some.len() as f64).collect()
}
