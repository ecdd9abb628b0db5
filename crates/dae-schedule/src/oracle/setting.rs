//! [`Setting`]: all that a run depends on besides the word and the first parameters.

use super::dice::chance;
use super::model::Model;
use super::trajectory::Push;

/// All that a run depends on besides the word and the first parameters. Equal settings repeat a run to the bit.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What is trained.
    pub model: &'a dyn Model,
    /// Samples in a micro-batch, at least 1.
    pub batch: u64,
    /// Positions in the whole run: the last steps are short, and those after them empty.
    pub total: u64,
    /// Decides what is left to chance: who an asynchronous peer turns to.
    pub seed: u64,
    /// How long a step takes, by the worker and by how many it has done before: positive, in any unit. All that stands
    /// left of `step` is one worker here, whatever it is split over.
    pub duration: &'a dyn Fn(usize, u64) -> f64,
    /// The pushes of another run of the word, in the order they were taken up. Who comes next to a centre, which version
    /// it had pulled, and which update it goes into are read there and not from the clock: what that run came to by
    /// chance is repeated. A child begins no round that is not there, so a run ends where they end. So with the mixings of
    /// peers that wait for nobody: whose round ended next, and how many there had been when it began.
    pub replay: Option<&'a [Push]>,
}

impl<'a> Setting<'a> {
    /// Endless data, and workers that all take one unit of time for a step.
    pub fn new(model: &'a dyn Model, batch: u64) -> Self {
        Self { model, batch, total: u64::MAX, seed: 0, duration: &even, replay: None }
    }
}

/// Every step takes one unit of time.
pub fn even(_worker: usize, _step: u64) -> f64 {
    1.0
}

/// Steps take between 0.5 and 1.5 units, decided by seed, worker and step.
pub fn uneven(seed: u64) -> impl Fn(usize, u64) -> f64 {
    move |worker, step| 0.5 + chance(seed, worker as u64, step)
}
