//! The items left of `step`: folds of grains over time and over space.

use std::collections::BTreeMap;

use super::exact;
use super::wire::Residual;
use super::world::World;
use crate::gradient::{GItem, Order};
use crate::wire::Wire;

/// A gradient that is still open: sums over samples, never divided.
struct Open {
    /// One sum; or with `order=exact` the gradient of every grain, to be added at the end.
    terms: Vec<Vec<f32>>,
    weight: f64,
    losses: Vec<f64>,
}

/// A gradient summed up.
pub(super) struct Sum {
    pub(super) sum: Vec<f32>,
    pub(super) weight: f64,
    pub(super) loss: f64,
}

/// A gradient source: the items of a word left of its `step`.
pub(super) struct Source {
    items: Vec<GItem>,
    /// Whether any `split` asks for it: then all grains of a step are added as one set.
    exact: bool,
    /// What codecs lost, by the item and the replica.
    residuals: BTreeMap<(usize, u64), Residual>,
}

impl Source {
    pub(super) fn new(items: &[GItem], parameters: usize) -> Self {
        let exact =
            items.iter().any(|item| matches!(item, GItem::Split(split) if split.order == Order::Exact));
        let mut residuals = BTreeMap::new();
        let mut replicas = 1;
        for (depth, item) in items.iter().enumerate().rev() {
            if let GItem::Split(split) = item {
                replicas *= u64::from(split.n);
                // One alone sends nothing.
                if split.n > 1 && split.wire != Wire::F32 {
                    residuals.extend((0..replicas).map(|r| ((depth, r), Residual::new(parameters))));
                }
            }
        }
        Self { items: items.to_vec(), exact, residuals }
    }

    /// The gradient of step `step` of the worker whose replicas follow `leaf`.
    pub(super) fn sum(&mut self, world: &mut World<'_>, params: &[f32], leaf: u64, step: u64) -> Sum {
        let depth = self.items.len();
        self.fold(depth, world, params, Place { leaf, replica: 0, micro: 0, step, replicas: 1 })
            .close(params.len())
    }

    /// Folds what the first `depth` items make of one replica and micro-batch of the item after them.
    fn fold(&mut self, depth: usize, world: &mut World<'_>, params: &[f32], at: Place) -> Open {
        let Some(inner) = depth.checked_sub(1) else { return self.grain(world, params, at) };
        let mut all = Open { terms: vec![], weight: 0.0, losses: vec![] };
        match self.items[inner] {
            GItem::Split(split) => {
                let n = u64::from(split.n);
                for child in 0..n {
                    let replica = at.replica * n + child;
                    let below = Place { replica, replicas: at.replicas * n, ..at };
                    let mut part = self.fold(inner, world, params, below);
                    if let Some(residual) = self.residuals.get_mut(&(inner, replica)) {
                        let Sum { sum, weight, loss } = part.close(params.len());
                        let terms = vec![residual.send(split.wire, 0..sum.len(), &sum)];
                        part = Open { terms, weight, losses: vec![loss] };
                    }
                    if mutated!(MeanOfMeans) && part.weight > 0.0 {
                        let factor = (1.0 / part.weight) as f32;
                        part.terms.iter_mut().flatten().for_each(|g| *g *= factor);
                        part.weight = 1.0;
                    }
                    all.add(part, self.exact);
                }
            }
            // The micro-batches of a pipeline are those of an `accum`: it is empty at the end of each step, so how its
            // stages interleave changes no sum, and neither does cutting a layer.
            item => {
                let k = u64::from(item.micro_batches());
                for child in 0..k {
                    let below = Place { micro: at.micro * k + child, ..at };
                    let part = self.fold(inner, world, params, below);
                    all.add(part, self.exact);
                }
            }
        }
        all
    }

    fn grain(&self, world: &mut World<'_>, params: &[f32], at: Place) -> Open {
        let range = world.deal.grain(at.step, at.leaf * at.replicas + at.replica, at.micro);
        if range.is_empty() {
            return Open { terms: vec![], weight: 0.0, losses: vec![] };
        }
        world.samples += range.end - range.start;
        let mut gradient = vec![0.0; params.len()];
        let grain = world.setting.model.gradient(params, range, &mut gradient);
        Open { terms: vec![gradient], weight: grain.weight, losses: vec![grain.loss] }
    }

    pub(super) fn tape(&mut self, tape: &mut super::tape::Tape) {
        self.residuals.values_mut().for_each(|residual| residual.tape(tape));
    }
}

/// Where in the mesh, and when: the leaf around, the replica among those of the split items around, the micro-batch.
#[derive(Clone, Copy)]
struct Place {
    leaf: u64,
    replica: u64,
    replicas: u64,
    micro: u64,
    step: u64,
}

impl Open {
    /// Adds in f32, in the order of micro-batches and ranks; or only gathers.
    fn add(&mut self, part: Self, exact: bool) {
        self.weight += part.weight;
        if exact {
            self.losses.extend(part.losses);
        } else {
            let loss = self.losses.iter().chain(&part.losses).fold(0.0, |sum, loss| sum + loss);
            self.losses = vec![loss];
        }
        for term in part.terms {
            match self.terms.first_mut() {
                Some(sum) if !exact => sum.iter_mut().zip(term).for_each(|(sum, g)| *sum += g),
                _ => self.terms.push(term),
            }
        }
    }

    /// The sum: of many terms, the number nearest to the true one.
    fn close(mut self, parameters: usize) -> Sum {
        let sum = match self.terms.len() {
            0 => vec![0.0; parameters],
            1 => self.terms.remove(0),
            _ => (0..parameters)
                .map(|at| exact::sum(self.terms.iter().map(|term| f64::from(term[at]))) as f32)
                .collect(),
        };
        Sum { sum, weight: self.weight, loss: exact::sum(self.losses) }
    }
}
