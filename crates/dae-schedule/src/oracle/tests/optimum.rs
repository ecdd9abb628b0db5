//! The methods of the field against an optimum that is known.
//!
//! A linear autoencoder W that is to give x for what masking left of it has a best W in closed form (marginalized
//! denoising autoencoders; Chen, Xu, Weinberger and Sha 2012): W = P Q^-1, where with S = E[x x'] and q the share that
//! is kept, P = q S, and Q = q^2 S off the diagonal and q S on it.

use std::ops::Range;

use super::models::noise;
use crate::oracle::dice::dice;
use crate::oracle::{Grain, Model, Run, Setting, uneven};

const WIDE: usize = 4;
const SAMPLES: u64 = 16;
type Square = [[f64; WIDE]; WIDE];

/// Half of what is kept, by a chance of its own for each place of each sample each time it is seen.
struct Masked;

fn clean(sample: u64) -> [f64; WIDE] {
    let [a, b] = [0, 1].map(|at| noise(21, sample, at));
    let spread = [0.9 * a, 0.5 * a + 0.6 * b, 0.8 * b, 0.7 * a - 0.4 * b];
    std::array::from_fn(|at| spread[at] + 0.2 * noise(22, sample, at))
}

impl Model for Masked {
    fn parameters(&self) -> usize {
        WIDE * WIDE
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        let mut sum = [0.0; WIDE * WIDE];
        let (weight, mut loss) = ((grain.end - grain.start) as f64, 0.0);
        for position in grain {
            let drawn = dice(23, position, 0);
            let x = clean(drawn % SAMPLES);
            let masked: [f64; WIDE] =
                std::array::from_fn(|at| if drawn >> (32 + at) & 1 == 0 { 0.0 } else { x[at] });
            for row in 0..WIDE {
                let made: f64 = (0..WIDE).map(|at| f64::from(params[row * WIDE + at]) * masked[at]).sum();
                let off = made - x[row];
                loss += 0.5 * off * off;
                (0..WIDE).for_each(|at| sum[row * WIDE + at] += off * masked[at]);
            }
        }
        into.iter_mut().zip(sum).for_each(|(into, sum)| *into = sum as f32);
        Grain { weight, loss }
    }
}

/// S, P and Q.
fn moments() -> (Square, Square, Square) {
    let mut s = [[0.0; WIDE]; WIDE];
    for x in (0..SAMPLES).map(clean) {
        for (row, s) in s.iter_mut().enumerate() {
            (0..WIDE).for_each(|at| s[at] += x[row] * x[at] / SAMPLES as f64);
        }
    }
    let scaled = |factor: &dyn Fn(usize, usize) -> f64| -> Square {
        std::array::from_fn(|row| std::array::from_fn(|at| factor(row, at) * s[row][at]))
    };
    (s, scaled(&|_, _| 0.5), scaled(&|row, at| if row == at { 0.5 } else { 0.25 }))
}

/// The expected loss of W: half of tr(S) - 2 tr(W P') + tr(W Q W').
fn expected(w: &[f64]) -> f64 {
    let (s, p, q) = moments();
    let mut loss = 0.0;
    for row in 0..WIDE {
        loss += s[row][row];
        for at in 0..WIDE {
            let w_q: f64 = (0..WIDE).map(|k| w[row * WIDE + k] * q[k][at]).sum();
            loss += w[row * WIDE + at] * (w_q - 2.0 * p[row][at]);
        }
    }
    0.5 * loss
}

/// P Q^-1: the rows of W solve Q w = p, by elimination; Q is symmetric and positive definite.
fn best() -> Vec<f64> {
    let (_, p, q) = moments();
    let solve = |p: &[f64; WIDE]| {
        let (mut q, mut w) = (q, *p);
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
    p.iter().flat_map(solve).collect()
}

/// How much more than the best loss is left after so many rounds, as a share of it.
fn excess(word: &str, batch: u64, rounds: usize) -> f64 {
    let duration = uneven(3);
    let setting = Setting { duration: &duration, ..Setting::new(&Masked, batch) };
    let word = crate::parse(word).unwrap();
    let mut run = Run::new(&word, vec![0.0; WIDE * WIDE], setting).unwrap();
    let w: Vec<f64> = run.rounds(rounds)[rounds - 1].params.iter().map(|w| f64::from(*w)).collect();
    expected(&w) / expected(&best()) - 1.0
}

#[test]
fn the_closed_form_is_the_best() {
    let best = best();
    let least = expected(&best);
    for at in 0..WIDE * WIDE {
        for by in [-0.01, 0.01] {
            let mut w = best.clone();
            w[at] += by;
            assert!(expected(&w) > least);
        }
    }
    // And it is what the model's losses come to.
    let w: Vec<f32> = best.iter().map(|w| *w as f32).collect();
    let (mut gradient, samples) = (vec![0.0; WIDE * WIDE], 400_000);
    let seen = Masked.gradient(&w, 0..samples, &mut gradient).loss / samples as f64;
    assert!((seen / least - 1.0).abs() < 0.01, "{seen} {least}");
    assert!(gradient.iter().all(|g| (g / samples as f32).abs() < 1e-3), "{gradient:?}");
}

/// Words of the table of methods, with the batch and the rounds they are given.
const METHODS: &[(&str, u64, usize)] = &[
    ("split 8 | step adam(1e-2)", 8, 1500),
    ("accum 4 | split 8 | step adam(1e-2)", 2, 1500),
    ("split 8 @node | split 16 @cluster | step adam(1e-2)", 1, 1000),
    ("step raw | join 8 outer=adam(1e-2) shards=4", 8, 1500),
    ("step raw | join 10 sync=quorum(8,drop) outer=adam(1e-2)", 8, 1500),
    ("step raw | join 8 sync=async scale=sum outer=sgd(.01)", 8, 1500),
    ("step raw | join 8 sync=ssp(3) scale=sum outer=sgd(.01)", 8, 1500),
    ("step raw | join 8 sync=quorum(4,keep) stale=lr/tau outer=sgd(.05)", 8, 1500),
    ("step raw | join 8 sync=async stale=dc(.04) outer=sgd(.01)", 8, 1500),
    ("step sgd(.1) | every 16 | join 8", 4, 120),
    ("step sgd(.1) | every 16 | join 8 outer=slowmo(1,.5)", 4, 120),
    ("step sgd(.1) | every 16 | join 8 outer=elastic(.1)", 4, 250),
    ("step adamw(3e-3) | every 50 | join 8 outer=nesterov(.7,.9)", 4, 80),
    ("step adamw(3e-3) | every 40 | join 8 outer=nesterov(.7,.9) frag=4 delay=5 mix=.5 wire=int8", 4, 100),
    (
        "split 4 @node | step adamw(3e-3) | every 20 | join 6 @cluster sync=async outer=nesterov(.7,.5) stale=lr/tau",
        2,
        80,
    ),
    (
        "split 4 @node | step adamw(3e-3) | every 20 | join 6 @cluster sync=async outer=nesterov(.1,.9) stale=lr/tau",
        2,
        80,
    ),
    ("step sgd(.1) | gossip 8 graph=ring sync=async", 4, 1500),
    ("step sgd(.1) | gossip 8 graph=exp push", 4, 1500),
    ("pipe 2 micro=8 sched=1f1b | split 4 | step adam(1e-2)", 2, 1500),
    ("phase step>=500: [split 8 | step sgd(.1)]; [step sgd(.1) | every 16 | join 8]", 4, 580),
];

#[test]
fn methods_come_within_a_percent_of_the_best() {
    for (word, batch, rounds) in METHODS {
        let excess = excess(word, *batch, *rounds);
        println!("{:8.4} % {word}", 100.0 * excess);
        assert!((0.0..0.01).contains(&excess), "{word}: {excess}");
    }
}

/// One method of the table does not, as it stands there: with a push of one child a full step, and a momentum of 0.9
/// around pushes that are five versions old, the outer rate of 7 = 0.7 / (1 - 0.9) is beyond what is stable. Either
/// number made smaller and `stale=lr/tau` mend it together (above); each alone does not.
#[test]
fn momentum_around_old_pushes_is_unstable() {
    let hybrid = "split 4 @node | step adamw(3e-3) | every 20 | join 6 @cluster sync=async";
    for outer in ["nesterov(.7,.9)", "nesterov(.7,.9) stale=lr/tau", "nesterov(.7,.5)", "nesterov(.1,.9)"] {
        let excess = excess(&format!("{hybrid} outer={outer}"), 2, 80);
        println!("{:8.2} % {outer}", 100.0 * excess);
        assert!(excess > 0.05, "{outer}: {excess}");
    }
}
