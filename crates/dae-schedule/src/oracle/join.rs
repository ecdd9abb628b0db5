//! [`Around`]: `join n`, children around a centre, who waits for whom, and who is late.

use std::ops::Range;

use super::centre::{Centre, Contribution};
use super::process::{Motion, Process, Report};
use super::stale::corrected;
use super::tape::Tape;
use super::trajectory::Push;
use super::unsupported::LOW_RANK;
use super::wire::Residual;
use super::world::World;
use crate::join::{Join, Late, Outer, Stale, SyncTerms, Weight};
use crate::wire::Wire;

/// A join while it runs: its centre, its children, and the contributions to the update that has not fired yet.
pub(super) struct Around {
    join: Join,
    terms: SyncTerms,
    /// Which item of the word, and which of its instances.
    id: (usize, usize),
    centre: Centre,
    children: Vec<Child>,
    pending: Vec<Contribution>,
    /// Pushes that have come.
    come: u64,
    now: f64,
}

struct Child {
    process: Process,
    /// Rounds done.
    clock: u64,
    /// The parameters it last had; what it starts from where it does not simply pull.
    own: Vec<f32>,
    residual: Residual,
    state: State,
}

enum State {
    /// It may pull.
    Idle,
    /// It will push.
    Running(Box<Flight>),
    /// It has pushed, and waits for the update its push goes into.
    Waiting,
}

/// A round under way.
struct Flight {
    /// The version it pulled, and what that was.
    read: u64,
    from: Vec<f32>,
    /// What it will report: nothing that happens meanwhile can change it.
    report: Report,
}

/// Why this join has no meaning here, if so.
pub(super) fn refused(join: &Join, raw: bool) -> Option<&'static str> {
    match (join.outer, join.wire) {
        (_, Wire::PowerSgd(_)) => Some(LOW_RANK),
        (Outer::Elastic(_), _) if raw => Some(
            "elastic children have parameters of their own, and `step raw` moves none; step with an optimizer",
        ),
        _ => None,
    }
}

impl Around {
    pub(super) fn new(join: Join, id: (usize, usize), children: Vec<Process>, x: &[f32]) -> Self {
        let child = |process| Child {
            process,
            clock: 0,
            own: x.to_vec(),
            residual: Residual::new(x.len()),
            state: State::Idle,
        };
        let children = children.into_iter().map(child).collect();
        let mut terms = join.terms();
        if mutated!(BareQuorum) && terms.k == join.n {
            terms = SyncTerms { slack: None, late: Late::Drop, ..terms };
        }
        Self { join, terms, id, centre: Centre::new(&join, x), children, pending: vec![], come: 0, now: 0.0 }
    }

    pub(super) fn round(&mut self, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
        self.now = self.now.max(start);
        // By their bits: numbers that are none are moved by nobody, either.
        if !x.iter().map(|x| x.to_bits()).eq(self.centre.x.iter().map(|x| x.to_bits())) {
            self.centre.x = x.to_vec();
            self.centre.version += 1;
            self.children.iter_mut().for_each(|child| child.own = x.to_vec());
        }
        let (mut weight, mut loss) = (0.0, 0.0);
        let mut updates = self.join.n / self.terms.k;
        while updates > 0 {
            (0..self.children.len()).for_each(|child| self.begin(world, child));
            let Some(child) = self.next(world) else { break };
            self.arrive(world, child);
            if self.due(world) {
                updates -= 1;
                for fired in self.fire(world) {
                    (weight, loss) = (weight + fired.samples, loss + fired.loss);
                }
            }
        }
        Report { motion: Motion::Value(self.centre.x.clone()), weight, loss, end: self.now }
    }

    /// What is still to come of the pushes that are repeated, if that is what this run does.
    fn script<'a>(&self, world: &World<'a>) -> Option<impl Iterator<Item = &'a Push> + use<'a>> {
        let (id, come) = (self.id, self.come as usize);
        world.setting.replay.map(|all| all.iter().filter(move |push| push.centre == id).skip(come))
    }

    /// A child that is idle pulls and begins a round, unless it is too far ahead of the slowest.
    fn begin(&mut self, world: &mut World<'_>, index: usize) {
        let slowest = self.children.iter().map(|child| child.clock).min().unwrap_or(0);
        if let Some(mut script) = self.script(world)
            && script.find(|push| push.worker == index).is_none_or(|push| push.read != self.centre.version)
        {
            return;
        }
        let child = &mut self.children[index];
        let slack = self.terms.slack.map(|s| u64::from(s) + u64::from(mutated!(SlackOffByOne)));
        let ahead = slack.is_some_and(|s| child.clock > slowest + s);
        if ahead || !matches!(child.state, State::Idle) {
            return;
        }
        #[cfg(test)]
        if mutated!(MomentumReset) {
            child.process.leaves(&mut |leaf| leaf.forget());
        }
        let (read, from) = (self.centre.version, self.centre.x.clone());
        #[cfg(test)]
        let from = if mutated!(OldPull) { self.centre.before.clone() } else { from };
        let begins = match self.join.outer {
            Outer::Elastic(_) => child.own.clone(),
            _ => blend(self.join.mix, &child.own, &from),
        };
        let report = child.process.round(world, &begins, self.now);
        child.state = State::Running(Box::new(Flight { read, from, report }));
    }

    /// Who pushes next: the earliest, and of those that are equal the first.
    fn next(&self, world: &World<'_>) -> Option<usize> {
        if let Some(mut script) = self.script(world) {
            let under_way = |child: &usize| matches!(self.children[*child].state, State::Running(_));
            return script.next().map(|push| push.worker).filter(under_way);
        }
        let ends = self.children.iter().enumerate().filter_map(|(index, child)| match &child.state {
            State::Running(flight) => Some((flight.report.end, index)),
            _ => None,
        });
        ends.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
    }

    /// Whether the update fires.
    fn due(&self, world: &World<'_>) -> bool {
        match self.script(world) {
            // Fewer may have come to it than are asked for, where the others were through with their data.
            Some(mut script) => {
                let next = Some(self.centre.version + 1);
                !self.pending.is_empty() && script.all(|push| push.applied != next)
            }
            None => self.pending.len() == self.terms.k as usize,
        }
    }

    /// A child pushes: its displacement waits for the update, or is dropped.
    fn arrive(&mut self, world: &mut World<'_>, index: usize) {
        let version = self.centre.version;
        self.come += 1;
        let child = &mut self.children[index];
        let State::Running(flight) = std::mem::replace(&mut child.state, State::Waiting) else { return };
        let Flight { read, from, report: Report { mut motion, mut weight, loss, end } } = *flight;
        self.now = self.now.max(end);
        let round = child.clock;
        child.clock += 1;
        let elastic = matches!(self.join.outer, Outer::Elastic(_));
        let before = elastic.then(|| child.own.clone());
        if let Motion::Value(to) = &motion {
            child.own.clone_from(to);
        }
        // It does not know yet whether it is late: what is sent is gone, and what is kept is kept.
        if self.join.wire.loses() {
            for part in self.centre.parts() {
                send(self.join.wire, &mut child.residual, part, &from, &mut motion);
            }
        }
        let age = version.saturating_sub(read);
        let late = self.terms.late == Late::Drop && age > 0;
        let old = matches!(self.join.stale, Stale::Drop(tau) if age > u64::from(tau));
        if (late || old) && !mutated!(LateKept) {
            child.state = State::Idle;
            // An elastic child is where the centre knows it to be; any other keeps its own, whatever is taken up of it.
            if let Some(before) = before {
                child.own = before;
            }
            let (centre, time) = (self.id, self.now);
            world.log.push(Push { centre, worker: index, round, read, applied: None, time });
            return;
        }
        let samples = weight;
        if self.join.weight == Weight::Equal && weight > 0.0 {
            if let Motion::Raw(sum) = &mut motion {
                sum.iter_mut().for_each(|g| *g *= (1.0 / weight) as f32);
            }
            weight = 1.0;
        }
        self.pending.push(Contribution { child: index, round, read, from, motion, weight, samples, loss });
    }

    /// The update: the centre moves, and those that took part may pull.
    fn fire(&mut self, world: &mut World<'_>) -> Vec<Contribution> {
        let mut given = std::mem::take(&mut self.pending);
        given.sort_by_key(|each| each.child);
        let version = self.centre.version;
        for each in &mut given {
            corrected(self.join.stale, version, &self.centre.x, each);
        }
        if let Outer::Elastic(a) = self.join.outer {
            let a = if mutated!(ElasticPull) { 1.0 } else { f64::from(a) };
            for each in &given {
                for (own, x) in self.children[each.child].own.iter_mut().zip(&self.centre.x) {
                    *own = (f64::from(*own) - a * (f64::from(*own) - f64::from(*x))) as f32;
                }
            }
        }
        self.centre.update(&given);
        for each in &given {
            self.children[each.child].state = State::Idle;
            world.log.push(Push {
                centre: self.id,
                worker: each.child,
                round: each.round,
                read: each.read,
                applied: Some(version + 1),
                time: self.now,
            });
        }
        given
    }

    pub(super) fn replicas(&self) -> Vec<Vec<f32>> {
        self.children.iter().map(|child| child.own.clone()).collect()
    }

    pub(super) fn inner(&mut self) -> impl Iterator<Item = &mut Process> {
        self.children.iter_mut().map(|child| &mut child.process)
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        self.centre.tape(tape);
        let parameters = self.centre.x.len();
        tape.list(self.children.len(), &mut self.pending, Contribution::blank(parameters), |tape, each| {
            each.tape(tape)
        });
        tape.number(&mut self.come);
        tape.float(&mut self.now);
        for child in &mut self.children {
            tape.number(&mut child.clock);
            tape.floats(&mut child.own);
            child.residual.tape(tape);
            child.process.tape(tape);
            child.state.tape(tape, parameters);
        }
    }
}

/// What a child starts from that keeps the share `mix` of its own.
pub(super) fn blend(mix: f32, own: &[f32], pulled: &[f32]) -> Vec<f32> {
    if mix == 0.0 {
        return pulled.to_vec();
    }
    let mix = f64::from(mix);
    own.iter()
        .zip(pulled)
        .map(|(own, x)| (mix * f64::from(*own) + (1.0 - mix) * f64::from(*x)) as f32)
        .collect()
}

/// Sends the displacement of a part of the parameters over a wire that loses some of it; the rest is as it was.
pub(super) fn send(
    wire: Wire,
    residual: &mut Residual,
    part: Range<usize>,
    from: &[f32],
    motion: &mut Motion,
) {
    match motion {
        Motion::Raw(sum) => {
            let sent = residual.send(wire, part.clone(), &sum[part.clone()]);
            sum[part].copy_from_slice(&sent);
        }
        Motion::Value(to) => {
            let (from, to) = (&from[part.clone()], &mut to[part.clone()]);
            let pseudo: Vec<f32> = from.iter().zip(&*to).map(|(from, to)| from - to).collect();
            let sent = residual.send(wire, part, &pseudo);
            to.iter_mut().zip(from).zip(sent).for_each(|((to, from), sent)| *to = from - sent);
        }
    }
}

impl State {
    fn tape(&mut self, tape: &mut Tape, parameters: usize) {
        let (mut running, mut waiting) = (matches!(self, Self::Running(_)), matches!(self, Self::Waiting));
        tape.flag(&mut running);
        tape.flag(&mut waiting);
        if tape.is_playing() {
            *self = match (running, waiting) {
                (true, _) => Self::Running(Box::new(Flight {
                    read: 0,
                    from: vec![0.0; parameters],
                    report: Report::blank(parameters),
                })),
                (_, true) => Self::Waiting,
                _ => Self::Idle,
            };
        }
        if let Self::Running(flight) = self {
            tape.number(&mut flight.read);
            tape.floats(&mut flight.from);
            flight.report.tape(tape);
        }
    }
}
