//! The field's methods, as the runtime runs them, against an optimum that is known.
//!
//! A linear autoencoder that is to give x for what masking left of it has a best W in closed form (marginalized denoising
//! autoencoders; Chen, Xu, Weinberger and Sha 2012): W = P Q^-1, where with S = E[x x'] and q the share of each value
//! that is kept, P = S diag(q), and Q = diag(q) S diag(q) off the diagonal and diag(q) S on it. The bias is the weight of
//! a value that is always 1 and always kept. The data are the made-up ones of these tests, 50 samples: no real set is at
//! hand here.

use crate::linear::Linear;
use crate::made_up::MadeUp;
use crate::rig::{FEATURES as N, Rig, SAMPLES, topology};
use dae_train::backend::Backend;
use dae_train::data::Dataset;
use dae_train::topology::Topology;

/// With the value that is always 1.
const WIDE: usize = N + 1;
const MASKED: f64 = 0.3;

/// S, P and Q.
struct Moments {
    s: Vec<[f64; WIDE]>,
    p: Vec<[f64; WIDE]>,
    q: Vec<[f64; WIDE]>,
}

impl Moments {
    fn new() -> Self {
        let (data, mut x, mut s) = (MadeUp::new(SAMPLES, N), [0.0; N], vec![[0.0; WIDE]; WIDE]);
        for id in 0..SAMPLES {
            data.read(id, &mut x);
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).chain([1.0]).collect();
            for (row, s) in s.iter_mut().enumerate() {
                s.iter_mut().zip(&wide).for_each(|(s, x)| *s += wide[row] * x / SAMPLES as f64);
            }
        }
        let kept = |at: usize| if at < N { 1.0 - MASKED } else { 1.0 };
        let scaled = |factor: &dyn Fn(usize, usize) -> f64| {
            let row = |row: usize| std::array::from_fn(|at| factor(row, at) * s[row][at]);
            (0..WIDE).map(row).collect()
        };
        let p = scaled(&|_, at| kept(at));
        let q = scaled(&|row, at| if row == at { kept(at) } else { kept(row) * kept(at) });
        Self { s, p, q }
    }

    /// The expected loss, the mean over the values of a sample, of W with the biases as its last column.
    fn loss(&self, w: &[[f64; WIDE]]) -> f64 {
        let mut loss = 0.0;
        for (row, w) in w.iter().enumerate() {
            loss += self.s[row][row];
            for at in 0..WIDE {
                let w_q: f64 = (0..WIDE).map(|k| w[k] * self.q[k][at]).sum();
                loss += w[at] * (w_q - 2.0 * self.p[row][at]);
            }
        }
        loss / N as f64
    }

    /// P Q^-1: its rows solve Q w = p, by elimination; Q is symmetric and positive definite.
    fn best(&self) -> Vec<[f64; WIDE]> {
        let solve = |p: &[f64; WIDE]| {
            let (mut q, mut w) = (self.q.clone(), *p);
            for pivot in 0..WIDE {
                for row in pivot + 1..WIDE {
                    let factor = q[row][pivot] / q[pivot][pivot];
                    (pivot..WIDE).for_each(|at| q[row][at] -= factor * q[pivot][at]);
                    w[row] -= factor * w[pivot];
                }
            }
            for row in (0..WIDE).rev() {
                let known: f64 = (row + 1..WIDE).map(|at| q[row][at] * w[at]).sum();
                w[row] = (w[row] - known) / q[row][row];
            }
            w
        };
        self.p[..N].iter().map(solve).collect()
    }
}

/// Flat parameters as W with the biases as its last column.
fn wide(flat: &[f32]) -> Vec<[f64; WIDE]> {
    let layout = Linear::new(N).layout().clone();
    let [weight, bias] = layout.tensors() else { panic!("two tensors") };
    let (w, b) = (&flat[weight.range()], &flat[bias.range()]);
    let row = |row: usize| std::array::from_fn(|at| f64::from(if at < N { w[row * N + at] } else { b[row] }));
    (0..N).map(row).collect()
}

/// Words of the table of methods, with the batch and the steps they are given. Rates are those of this model, and fall
/// along a cosine.
const METHODS: &[(&str, u32, u64)] = &[
    ("split 8 | step adam(0.02)", 4, 1000),
    ("accum 4 | split 8 | step adam(0.02)", 1, 1000),
    ("step raw | join 8 outer=adam(0.02) shards=4", 4, 1000),
    ("step raw | join 10 sync=quorum(8,drop) outer=adam(0.02)", 4, 1000),
    ("step raw | join 8 sync=async scale=sum outer=sgd(0.2)", 4, 1000),
    ("step raw | join 8 sync=ssp(3) scale=sum outer=sgd(0.2)", 4, 1000),
    ("step raw | join 8 sync=quorum(4,keep) stale=lr/tau outer=sgd(0.8)", 4, 1000),
    ("step raw | join 8 sync=async stale=dc(0.04) outer=sgd(0.2)", 4, 1000),
    ("step sgd(0.8) | every 16 | join 8", 4, 1600),
    ("step sgd(0.8) | every 16 | join 8 outer=slowmo(1,0.5)", 4, 1600),
    ("step sgd(2) | every 16 | join 8 outer=elastic(0.1)", 4, 1600),
    ("step adamw(0.01) | every 50 | join 8 outer=nesterov(0.7,0.9)", 4, 3000),
];

fn run(word: &str, batch: u32, steps: u64) -> Vec<f32> {
    let topology: Topology = topology(word).batch(batch).steps(steps).masking(MASKED).cosine(0.0);
    Rig::new(&topology).run().finished().params().to_vec()
}

#[test]
fn the_closed_form_is_the_best() {
    let moments = Moments::new();
    let best = moments.best();
    let least = moments.loss(&best);
    for (row, at) in (0..N).flat_map(|row| (0..WIDE).map(move |at| (row, at))) {
        for by in [-0.01, 0.01] {
            let mut w = best.clone();
            w[row][at] += by;
            assert!(moments.loss(&w) > least);
        }
    }
    // And it is what the losses of a run come to: once the rate is low, their mean.
    let topology = topology("split 4 | step adam(0.02)").batch(8).steps(1500).masking(MASKED).cosine(0.0);
    let ran = Rig::new(&topology).run().finished();
    let last = &ran.log.steps()[1000..];
    let seen = last.iter().map(|step| step.loss).sum::<f64>() / last.len() as f64;
    assert!((seen / least - 1.0).abs() < 0.05, "{seen} {least}");
}

#[test]
fn methods_come_within_a_percent_of_the_best() {
    let moments = Moments::new();
    let least = moments.loss(&moments.best());
    for (word, batch, steps) in METHODS {
        let begun = std::time::Instant::now();
        let excess = moments.loss(&wide(&run(word, *batch, *steps))) / least - 1.0;
        println!("{:8.4} % {:5} ms {word}", 100.0 * excess, begun.elapsed().as_millis());
        // What is dropped is lost to the run, and how much that is depends on what else the machine does: as there are
        // fewer updates then, neither they nor the cosine come to their end.
        let within = if word.contains("drop") { 0.25 } else { 0.01 };
        assert!((-1e-6..within).contains(&excess), "{word}: {excess}");
    }
}
