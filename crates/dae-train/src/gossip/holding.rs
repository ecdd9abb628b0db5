//! What a peer holds.

use std::sync::Arc;

/// What a peer holds: its parameters times a weight. The weight is 1, but with `push`.
#[derive(Debug, Clone, PartialEq)]
pub struct Holding {
    mass: Arc<Vec<f32>>,
    weight: f64,
    /// Whether weights travel along.
    push: bool,
}

impl Holding {
    /// So much, of this weight.
    pub fn new(mass: Vec<f32>, weight: f64, push: bool) -> Self {
        Self { mass: Arc::new(mass), weight, push }
    }

    /// The parameters times the weight. Who has them while it mixes keeps what they were.
    pub fn mass(&self) -> &Arc<Vec<f32>> {
        &self.mass
    }

    /// The weight.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// What the peer computes with.
    pub fn parameters(&self) -> Arc<Vec<f32>> {
        if self.weight == 1.0 {
            return self.mass.clone();
        }
        Arc::new(self.mass.iter().map(|mass| (f64::from(*mass) / self.weight) as f32).collect())
    }

    /// Whether all of it is finite.
    pub fn finite(&self) -> bool {
        self.weight.is_finite() && self.mass.iter().all(|mass| mass.is_finite())
    }

    /// A round went from one place to another: its displacement is added to what is held by now.
    pub fn arrive(&mut self, from: &[f32], to: &[f32]) {
        for ((mass, from), to) in Arc::make_mut(&mut self.mass).iter_mut().zip(from).zip(to) {
            let moved = f64::from(*mass) + (f64::from(*to) - f64::from(*from));
            *mass = if mass == from { *to } else { moved as f32 };
        }
    }

    /// Takes (own + `theirs` x sum of the others) x `share`; each of the others is a mass with its weight.
    ///
    /// # Panics
    /// If one is shorter than its own.
    pub fn mix(&mut self, others: &[(Arc<Vec<f32>>, f64)], theirs: f64, share: f64) {
        for (at, mass) in Arc::make_mut(&mut self.mass).iter_mut().enumerate() {
            let sum: f64 = others.iter().map(|(other, _)| f64::from(other[at])).sum();
            *mass = ((f64::from(*mass) + theirs * sum) * share) as f32;
        }
        if self.push {
            let sum: f64 = others.iter().map(|(_, weight)| weight).sum();
            self.weight = (self.weight + theirs * sum) * share;
        }
    }
}

/// The mean of the peers' parameters at each place, which is the model that a run is judged by; of one, its very bits.
pub fn mean(all: &[Vec<f32>]) -> Vec<f32> {
    let n = all.len() as f64;
    let at = |at: usize| all.iter().map(|x| f64::from(x[at])).sum::<f64>() / n;
    (0..all.first().map_or(0, Vec::len)).map(|place| at(place) as f32).collect()
}
