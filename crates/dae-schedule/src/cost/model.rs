//! The cost of what stands right of `step`.

use super::collective::Sum;
use super::facts::Facts;
use super::gradient::passes;
use super::layout::{Layout, Level, written};
use super::ledger::Ledger;
use super::pace::Pace;
use super::peers;
use super::prediction::Staleness;
use super::random::Random;
use super::size::{Vector, pushed};
use super::star::{Hop, Seen, Star};
use super::straggler::Straggler;
use crate::gossip::Gossip;
use crate::gradient::Algo;
use crate::join::{Join, Outer, Stale};
use crate::model::MItem;
use crate::word::Word;

/// A process, as one of those around it sees it.
pub(crate) struct Process {
    pub(crate) pace: Pace,
    /// The one in which the worker is that is always slow.
    pub(crate) marked: Option<Pace>,
    /// The share of what its workers compute that is used.
    pub(crate) useful: f64,
    pub(crate) staleness: Staleness,
    /// Steps in a round.
    pub(crate) period: u32,
}

/// Prices all items right of `step`, from the inside out.
pub(crate) fn wrap(
    word: &Word,
    facts: &Facts,
    layout: &Layout,
    mut process: Process,
    ledger: &mut Ledger<'_>,
) -> Process {
    let mut random = Random(ledger.figures.seed);
    for (place, item) in word.model().iter().enumerate() {
        let at = word.gradient().len() + place;
        match (item, layout.level(at)) {
            (MItem::Every(h), _) => process.every(*h, &mut random),
            (MItem::Join(join), Some(level)) => {
                process.join(join, &written(word, at), level, facts, ledger, &mut random);
            }
            (MItem::Gossip(gossip), Some(level)) => {
                process.gossip(gossip, &written(word, at), level, facts, ledger, &mut random);
            }
            // A centre around one child is there only for its outer optimizer.
            (MItem::Join(join), None) => {
                let outer_s = outer_s(join, facts, ledger.figures.memory_bytes_per_s);
                process.pace = process.pace.clone().then(outer_s);
                process.marked = process.marked.take().map(|marked| marked.then(outer_s));
            }
            (MItem::Gossip(_), None) => {}
        }
    }
    process
}

impl Process {
    fn every(&mut self, h: u32, random: &mut Random) {
        self.period = self.period.saturating_mul(h);
        self.pace = self.pace.clone().every(h, random);
        self.marked = self.marked.take().map(|marked| marked.every(h, random));
    }

    fn join(
        &mut self,
        join: &Join,
        name: &str,
        level: &Level,
        facts: &Facts,
        ledger: &mut Ledger<'_>,
        random: &mut Random,
    ) {
        if is_all_reduce(join) {
            let extra_s = self.summed_s(join, name, level, facts, ledger);
            let (pace, marked) = (&self.pace, self.marked.as_ref());
            let slowest = pace.slowest_of(level.n, None, extra_s, random);
            self.marked = marked.map(|_| pace.slowest_of(level.n, marked, extra_s, random));
            self.pace = slowest;
        } else {
            self.around(join, name, level, facts, ledger, random);
        }
    }

    /// Seconds in which all children sum their displacements, less what goes by while they go on.
    fn summed_s(
        &self,
        join: &Join,
        name: &str,
        level: &Level,
        facts: &Facts,
        ledger: &mut Ledger<'_>,
    ) -> f64 {
        let (vector, pieces) = (displacement(join, facts), f64::from(join.frag));
        let per_step = 1.0 / f64::from(self.period);
        let (algo, wire) = (Algo::Auto, join.wire);
        let seconds = Sum { item: name, level, vector, algo, wire, pieces, per_step }.enter(ledger);
        let hidden = pieces * f64::from(join.delay) * self.pace.inner_s();
        (seconds - hidden).max(0.0) + outer_s(join, facts, ledger.figures.memory_bytes_per_s)
    }

    fn around(
        &mut self,
        join: &Join,
        name: &str,
        level: &Level,
        facts: &Facts,
        ledger: &mut Ledger<'_>,
        random: &mut Random,
    ) {
        let (link, bytes) = (ledger.figures.links.of(level.place), displacement(join, facts));
        let (children, shards, frag) = (f64::from(level.n), f64::from(join.shards), f64::from(join.frag));
        // Shards lie on machines of their own as long as there are any; each machine of a child sends its own part.
        let machines = f64::from((level.n / level.share).saturating_mul(level.inner_nodes));
        let lanes = if level.place.spans_nodes() { shards.min(machines) } else { shards };
        // Between nodes, each shard is where one of the children is, for whom nothing travels.
        let away = children - if level.place.spans_nodes() { 1.0 } else { 0.0 };
        let per_step = away * f64::from(level.instances) / f64::from(self.period);
        let own = f64::from(level.share) / level.slices(level.place);
        ledger.traffic(
            level.place,
            per_step * bytes.sum(),
            bytes.reduce * own / f64::from(self.period),
            away * bytes.reduce.max(bytes.gather) / lanes / f64::from(self.period),
            per_step * 2.0 * shards * frag,
        );
        let hop = |bytes: f64| Hop {
            centre_s: frag * link.message_s + bytes / lanes / link.bytes_per_s,
            child_s: frag * link.message_s + bytes * own / link.bytes_per_s,
        };
        let star = Star {
            n: level.n,
            terms: join.terms(),
            drop_above: if let Stale::Drop(most) = join.stale { Some(u64::from(most)) } else { None },
            child: &self.pace,
            marked: None,
            push: hop(bytes.reduce),
            pull: hop(bytes.gather),
            latency_s: frag * link.latency_s,
            update_s: outer_s(join, facts, ledger.figures.memory_bytes_per_s) / lanes,
            hidden_s: frag * f64::from(join.delay) * self.pace.inner_s(),
        };
        let mut seen = star.run(random);
        ledger.events += seen.events;
        let pace = seen.pace.clone();
        let mut with_marked = None;
        if let Some(marked) = &self.marked {
            let star = Star { marked: Some(marked), ..star };
            seen = star.run(random);
            ledger.events += seen.events;
            // However long the simulation, nobody gets more than so many rounds ahead.
            let alone = marked.mean()
                + (star.push.child_s + star.pull.child_s + 2.0 * star.latency_s - star.hidden_s).max(0.0);
            if join.terms().slack.is_some() && seen.pace.mean() < alone {
                seen.pace = Pace::seen(vec![alone], seen.pace.busy * seen.pace.mean() / alone);
            }
            with_marked = Some(seen.pace.clone());
        }
        (self.pace, self.marked) = (pace, with_marked);
        self.useful *= seen.useful;
        self.staleness.worse(of_join(join, name, &seen));
    }

    fn gossip(
        &mut self,
        gossip: &Gossip,
        name: &str,
        level: &Level,
        facts: &Facts,
        ledger: &mut Ledger<'_>,
        random: &mut Random,
    ) {
        let (link, degree) = (ledger.figures.links.of(level.place), peers::degree(gossip));
        // The weight goes along.
        let bytes = 4.0 * facts.params as f64 + if gossip.push { 4.0 } else { 0.0 };
        let slice = bytes / level.slices(level.place);
        let machine = f64::from(level.share);
        let mix_s = link.latency_s
            + (degree - 1.0).max(0.0) * link.message_s
            + degree * slice * machine / link.bytes_per_s
            + 12.0 * facts.params as f64 / ledger.figures.memory_bytes_per_s;
        let per_step = f64::from(level.n) * f64::from(level.instances) * degree / f64::from(self.period);
        let endpoint = degree * slice * machine / f64::from(self.period);
        let messages = per_step * level.slices(level.place);
        ledger.traffic(level.place, per_step * bytes, endpoint, endpoint, messages);
        let (pace, events) = peers::round(gossip, &self.pace, None, mix_s, random);
        let marked = self
            .marked
            .as_ref()
            .map(|marked| peers::round(gossip, &self.pace, Some(marked), mix_s, random).0);
        (self.pace, self.marked) = (pace, marked);
        ledger.events += events;
        if gossip.asynchronous {
            // While a peer computes, it is mixed with about as often as it mixes.
            self.staleness.worse(Staleness { item: name.to_owned(), mean: 1.0, seen: 1, bound: None });
        }
    }

    /// What the run as a whole goes by: the slow worker is somewhere.
    pub(crate) fn whole(&self) -> &Pace {
        self.marked.as_ref().unwrap_or(&self.pace)
    }

    /// Whether there is one that is always slow.
    pub(crate) fn is_marked(straggler: Straggler) -> bool {
        matches!(straggler, Straggler::Constant { .. })
    }
}

/// Whether all wait for all and there is no centre with shards of its own: then displacements are summed as gradients
/// are (law M3), by the cheapest all-reduce.
pub(crate) fn is_all_reduce(join: &Join) -> bool {
    let terms = join.terms();
    terms.k == join.n && terms.slack == Some(0) && join.shards == 1
}

/// Bytes of what each child pushes, and of what it pulls: the centre as it is.
fn displacement(join: &Join, facts: &Facts) -> Vector {
    Vector { reduce: pushed(join, facts), gather: 4.0 * facts.params as f64 }
}

/// The centre's pass over memory; a mean is what the sum has left behind.
fn outer_s(join: &Join, facts: &Facts, bytes_per_s: f64) -> f64 {
    let touched = match &join.outer {
        Outer::Avg => 0.0,
        Outer::Elastic(_) => 3.0,
        Outer::Nesterov { .. } | Outer::SlowMo { .. } => 5.0,
        Outer::Optimizer(optimizer) => passes(optimizer),
    };
    4.0 * facts.params as f64 * touched / bytes_per_s
}

/// What a join's terms allow, and what was seen.
fn of_join(join: &Join, name: &str, seen: &Seen) -> Staleness {
    let terms = join.terms();
    let dropped = terms.late == crate::join::Late::Drop && terms.k < join.n;
    let others = u64::from(join.n - 1);
    let by_terms = match terms.slack {
        _ if dropped || terms.k == join.n => Some(0),
        // Others may be s rounds behind at the pull, and s + 1 ahead at the push.
        Some(slack) => Some(others * (2 * u64::from(slack) + 1) / u64::from(terms.k)),
        None => None,
    };
    let by_stale = if let Stale::Drop(most) = join.stale { Some(u64::from(most)) } else { None };
    let bound = match (by_terms, by_stale) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Staleness { item: name.to_owned(), mean: seen.mean_stale, seen: seen.most_stale, bound }
}
