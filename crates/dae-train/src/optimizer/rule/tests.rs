//! Rules against PyTorch's trajectories and a reference in f64.

use super::*;
use proptest::prelude::*;

const ADAM: Optimizer = Optimizer::Adam { lr: 0.1, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 };
const ADAM_L2: Optimizer =
    Optimizer::Adam { lr: 0.05, beta1: 0.8, beta2: 0.99, eps: 1e-6, weight_decay: 0.1 };
const ADAMW: Optimizer =
    Optimizer::AdamW { lr: 0.01, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.5 };
const SGD: Optimizer = Optimizer::Sgd { lr: 0.1, momentum: 0.0, nesterov: false, weight_decay: 0.01 };
const MOMENTUM: Optimizer = Optimizer::Sgd { lr: 0.1, momentum: 0.9, nesterov: false, weight_decay: 0.01 };
const NESTEROV: Optimizer = Optimizer::Sgd { lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.01 };
const ALL: [Optimizer; 6] = [ADAM, ADAM_L2, ADAMW, SGD, MOMENTUM, NESTEROV];

/// Parameters and state buffers, and one step on all of them.
#[derive(Clone, PartialEq, Debug)]
struct Model {
    params: Vec<f32>,
    state: Vec<Vec<f32>>,
}

impl Model {
    fn new(rule: &Rule, params: &[f32]) -> Self {
        let state = rule.state_names().iter().map(|_| vec![0.0; params.len()]).collect();
        Self { params: params.to_vec(), state }
    }

    fn step(&mut self, rule: &Rule, t: u64, range: std::ops::Range<usize>, grads: &[&[f32]]) -> bool {
        let mut state: Vec<_> = self.state.iter_mut().map(|s| &mut s[range.clone()]).collect();
        let grads: Vec<_> = grads.iter().map(|g| &g[range.clone()]).collect();
        rule.apply(t, 1.0, 0.5, &mut self.params[range], &mut state, &grads)
    }
}

/// The published formulas in f64, one parameter.
fn reference(spec: &Optimizer, start: f64, gradients: &[f64]) -> f64 {
    let (mut p, mut m, mut v) = (start, 0.0f64, 0.0f64);
    for (t, &g) in (1..).zip(gradients) {
        match spec.to_owned() {
            Optimizer::Sgd { lr, momentum, nesterov, weight_decay } => {
                let g = g + as_written(weight_decay) * p;
                m = if t == 1 { g } else { as_written(momentum) * m + g };
                let direction = if nesterov { g + as_written(momentum) * m } else { m };
                p -= as_written(lr) * direction;
            }
            Optimizer::Adam { lr, beta1, beta2, eps, weight_decay }
            | Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay } => {
                let [lr, b1, b2, eps, wd] = [lr, beta1, beta2, eps, weight_decay].map(as_written);
                let mut g = g;
                if matches!(spec, Optimizer::AdamW { .. }) {
                    p -= lr * wd * p;
                } else {
                    g += wd * p;
                }
                m = b1 * m + (1.0 - b1) * g;
                v = b2 * v + (1.0 - b2) * g * g;
                let (m_hat, v_hat) = (m / (1.0 - b1.powi(t)), v / (1.0 - b2.powi(t)));
                p -= lr * m_hat / (v_hat.sqrt() + eps);
            }
        }
    }
    p
}

/// Gradients that vary over elements and steps, and change sign.
fn gradient(i: usize, t: u64) -> f32 {
    ((i as f32 + 1.0) * 0.7 + t as f32 * 1.3).sin() * (1.0 + i as f32 * 0.01)
}

#[test]
fn follows_the_published_formulas() {
    for spec in ALL {
        let rule = Rule::new(&spec);
        let start: Vec<f32> = (0..100).map(|i| (i as f32 * 0.37).cos()).collect();
        let mut model = Model::new(&rule, &start);
        for t in 1..=20 {
            // Two equal slots at scale one half: the gradient itself.
            let g: Vec<f32> = (0..100).map(|i| gradient(i, t)).collect();
            assert!(model.step(&rule, t, 0..100, &[&g, &g]));
        }
        for (i, (&p, &s)) in model.params.iter().zip(&start).enumerate() {
            let gradients: Vec<f64> = (1..=20).map(|t| f64::from(gradient(i, t))).collect();
            let expected = reference(&spec, f64::from(s), &gradients);
            assert!((f64::from(p) - expected).abs() < 3e-6, "{spec:?} [{i}]: {p} for {expected}");
        }
    }
}

#[test]
fn three_steps_end_where_pytorch_does() {
    let gradients = [[0.5, -1.0, 0.25, 2.0], [0.1, 0.3, -0.7, -2.0], [-0.4, 0.2, 0.9, 0.001f32]];
    // torch 2.x on the same start and gradients, in f32.
    let ends: [(Optimizer, [f32; 4]); 6] = [
        (SGD, [0.97711295, -0.4486714, 0.20423071, 2.9911087]),
        (MOMENTUM, [0.88009477, -0.30354732, 0.22387367, 2.821644]),
        (NESTEROV, [0.8694655, -0.27230325, 0.18072082, 2.831241]),
        (ADAM, [0.81032604, -0.3367641, 0.17169134, 2.909309]),
        (ADAM_L2, [0.8961942, -0.4185328, 0.20794031, 2.9431512]),
        (ADAMW, [0.9662474, -0.47633502, 0.23851383, 2.946253]),
    ];
    for (spec, end) in ends {
        let rule = Rule::new(&spec);
        let mut model = Model::new(&rule, &[1.0, -0.5, 0.25, 3.0]);
        for (t, g) in (1..).zip(&gradients) {
            model.step(&rule, t, 0..4, &[g, g]);
        }
        for (p, e) in model.params.iter().zip(end) {
            assert!((p - e).abs() <= 2.0 * f32::EPSILON * e.abs().max(0.5), "{spec:?}: {p} for {e}");
        }
    }
}

#[test]
fn the_learning_rate_factor_multiplies_the_rate() {
    let rule = Rule::new(&ADAM);
    let [mut whole, mut half] = [[0.0f32], [0.0f32]];
    for (p, factor) in [(&mut whole, 1.0), (&mut half, 0.5)] {
        rule.apply(1, factor, 1.0, p, &mut [&mut [0.0], &mut [0.0]], &[&[3.0]]);
    }
    assert!((whole[0] + 0.1).abs() < 1e-7);
    assert_eq!(half[0] * 2.0, whole[0]);
}

#[test]
fn every_element_is_checked_in_every_position() {
    let rule = Rule::new(&ADAM);
    for slots in 1..=3 {
        for at in [0, 1, 15, 1023, 1024, 2046, 2049] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let clean = vec![f32::MAX / 4.0; 2050];
                let mut spoilt = clean.clone();
                spoilt[at] = bad;
                let mut grads = vec![clean.as_slice(); slots];
                assert!(Model::new(&rule, &clean).step(&rule, 1, 0..2050, &grads));
                grads[slots - 1] = &spoilt;
                assert!(!Model::new(&rule, &clean).step(&rule, 1, 0..2050, &grads));
            }
        }
    }
}

#[test]
fn padding_stays_zero() {
    for spec in ALL {
        let rule = Rule::new(&spec);
        let mut model = Model::new(&rule, &[0.0; 16]);
        for t in 1..=5 {
            model.step(&rule, t, 0..16, &[&[0.0; 16]]);
        }
        assert!(model.params.iter().all(|p| p.to_bits() == 0), "{spec:?}");
    }
}

proptest! {
    #[test]
    fn the_cuts_do_not_change_a_bit(
        which in 0..ALL.len(),
        slots in 1usize..=4,
        mut cuts in proptest::collection::vec(0usize..=3000, 0..6),
    ) {
        let rule = Rule::new(&ALL[which]);
        let start: Vec<f32> = (0..3000).map(|i| (i as f32 * 0.37).cos()).collect();
        let (mut whole, mut cut) = (Model::new(&rule, &start), Model::new(&rule, &start));
        cuts.extend([0, 3000]);
        cuts.sort_unstable();
        for t in 1..=3 {
            let grads: Vec<Vec<f32>> = (0..slots)
                .map(|r| (0..3000).map(|i| gradient(i + 7 * r, t)).collect())
                .collect();
            let grads: Vec<&[f32]> = grads.iter().map(Vec::as_slice).collect();
            whole.step(&rule, t, 0..3000, &grads);
            for pair in cuts.windows(2) {
                cut.step(&rule, t, pair[0]..pair[1], &grads);
            }
        }
        prop_assert_eq!(whole, cut);
    }
}
