//! [`Stream`]: `join n frag=P delay=d mix=m` around `every h` (streaming DiLoCo; Douillard et al. 2025).

use std::ops::Range;

use super::centre::{Centre, Contribution};
use super::join::{blend, send};
use super::process::{Motion, Process, Report};
use super::tape::Tape;
use super::wire::Residual;
use super::world::World;
use crate::join::{Join, Outer, Weight};

/// A join whose parameters are cut into P fragments, one after the other. Every h/P inner rounds one of them is due:
/// the children push what has become of it since they last merged it, the centre's outer optimizer moves it, and
/// `delay` inner rounds later, in which children go on, each takes it over, keeping the share `mix` of its own.
pub(super) struct Stream {
    join: Join,
    period: u64,
    centre: Centre,
    children: Vec<Child>,
    /// Inner rounds done.
    rounds: u64,
    /// A fragment on its way.
    travelling: Option<Travelling>,
}

struct Child {
    process: Process,
    own: Vec<f32>,
    residual: Residual,
    now: f64,
    /// What went into each fragment since it was last due.
    weights: Vec<f64>,
    /// What it has done in this round of the whole: one that does nothing in it has no vote, whatever it had before.
    samples: f64,
}

#[derive(Default)]
struct Travelling {
    fragment: u64,
    /// The inner round after which it is merged, and when the last of the children had pushed it.
    due: u64,
    pushed: f64,
}

/// Why this join has no meaning here, if so.
pub(super) fn refused(join: &Join, period: u32, raw: bool) -> Option<&'static str> {
    let terms = join.terms();
    if terms.k != join.n {
        Some("`frag` and `delay` are for joins that wait for all; leave out `sync`")
    } else if raw || matches!(join.outer, Outer::Elastic(_)) {
        Some(
            "`frag` and `delay` need children that pull parameters and move them; step with an optimizer, and not `elastic`",
        )
    } else if !period.is_multiple_of(join.frag) || join.delay >= period / join.frag {
        Some("`frag` must divide the h of `every h` on its left, and `delay` must be below h / frag")
    } else {
        None
    }
}

impl Stream {
    pub(super) fn new(join: Join, period: u32, children: Vec<Process>, x: &[f32]) -> Self {
        let child = |process| Child {
            process,
            own: x.to_vec(),
            residual: Residual::new(x.len()),
            now: 0.0,
            weights: vec![0.0; join.frag as usize],
            samples: 0.0,
        };
        let children = children.into_iter().map(child).collect();
        let centre = Centre::new(&join, x);
        Self { join, period: period.into(), centre, children, rounds: 0, travelling: None }
    }

    pub(super) fn round(&mut self, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
        let anew = !x.iter().map(|x| x.to_bits()).eq(self.centre.x.iter().map(|x| x.to_bits()));
        if anew {
            self.centre.x = x.to_vec();
            self.travelling = None;
        }
        for child in &mut self.children {
            (child.now, child.samples) = (child.now.max(start), 0.0);
            if anew {
                child.own = x.to_vec();
            }
        }
        let (mut weight, mut loss) = (0.0, 0.0);
        for _ in 0..self.period {
            for child in &mut self.children {
                let report = child.process.round(world, &child.own, child.now);
                if let Motion::Value(value) = report.motion {
                    child.own = value;
                }
                child.now = report.end;
                child.weights.iter_mut().for_each(|weight| *weight += report.weight);
                child.samples += report.weight;
                (weight, loss) = (weight + report.weight, loss + report.loss);
            }
            self.rounds += 1;
            self.merge();
            for fragment in self.due() {
                self.push(fragment);
                self.merge();
            }
        }
        let end = self.children.iter().map(|child| child.now).fold(start, f64::max);
        Report { motion: Motion::Value(self.centre.x.clone()), weight, loss, end }
    }

    /// The fragments that are due after this inner round.
    fn due(&self) -> Range<u64> {
        let fragments = u64::from(self.join.frag);
        let done = (self.rounds - 1) % self.period + 1;
        let apart = self.period / fragments;
        if mutated!(AllAtOnce) {
            return if done == self.period { 0..fragments } else { 0..0 };
        }
        if !done.is_multiple_of(apart) || mutated!(LostFragment) && fragments > 1 && done == self.period {
            return 0..0;
        }
        done / apart - 1..done / apart
    }

    /// All children push a fragment, and the centre's moves.
    fn push(&mut self, fragment: u64) {
        let at = fragment as usize;
        let Some(part) = self.centre.parts().nth(at) else { return };
        let mut given = Vec::new();
        for (index, child) in self.children.iter_mut().enumerate() {
            let mut weight = std::mem::take(&mut child.weights[at]);
            if child.samples == 0.0 {
                weight = 0.0;
            }
            if self.join.weight == Weight::Equal {
                weight = weight.min(1.0);
            }
            let (from, mut motion) = (self.centre.x.clone(), Motion::Value(child.own.clone()));
            if self.join.wire.loses() {
                send(self.join.wire, &mut child.residual, part.clone(), &from, &mut motion);
            }
            given.push(Contribution { child: index, from, motion, weight, ..Contribution::blank(0) });
        }
        self.centre.update_part(at, &given);
        self.centre.version += 1;
        let pushed = self.children.iter().map(|child| child.now).fold(0.0, f64::max);
        let delay = if mutated!(DelayIgnored) { 0 } else { u64::from(self.join.delay) };
        self.travelling = Some(Travelling { fragment, due: self.rounds + delay, pushed });
    }

    /// Children take over a fragment whose time has come; none can before all have pushed it.
    fn merge(&mut self) {
        let Some(travelling) = self.travelling.take_if(|travelling| travelling.due == self.rounds) else {
            return;
        };
        let Some(part) = self.centre.parts().nth(travelling.fragment as usize) else { return };
        for child in &mut self.children {
            let own = &mut child.own[part.clone()];
            let merged = blend(self.join.mix, own, &self.centre.x[part.clone()]);
            own.copy_from_slice(&merged);
            child.now = child.now.max(travelling.pushed);
        }
    }

    pub(super) fn replicas(&self) -> Vec<Vec<f32>> {
        self.children.iter().map(|child| child.own.clone()).collect()
    }

    pub(super) fn inner(&mut self) -> impl Iterator<Item = &mut Process> {
        self.children.iter_mut().map(|child| &mut child.process)
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        self.centre.tape(tape);
        tape.number(&mut self.rounds);
        tape.maybe(&mut self.travelling, Travelling::default, |tape, travelling| {
            tape.number(&mut travelling.fragment);
            tape.number(&mut travelling.due);
            tape.float(&mut travelling.pushed);
        });
        for child in &mut self.children {
            child.process.tape(tape);
            tape.floats(&mut child.own);
            child.residual.tape(tape);
            tape.float(&mut child.now);
            child.weights.iter_mut().for_each(|weight| tape.float(weight));
        }
    }
}
