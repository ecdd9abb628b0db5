//! The learning rate as a function of the committed step: the same on every worker, and after every restart.

use std::f64::consts::PI;

use super::sections::ScheduleSection;

/// How the optimizer's base rate is scaled from step to step.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningRate {
    warmup: u64,
    course: Course,
}

/// What follows the warm-up.
#[derive(Debug, Clone, PartialEq)]
enum Course {
    Constant,
    Step { every: u64, factor: f64 },
    Cosine { min: f64 },
}

impl LearningRate {
    /// The rate a section describes; anything unknown stays constant.
    pub(super) fn new(section: &ScheduleSection) -> Self {
        let course = match (section.lr.as_str(), section.decay_every) {
            ("step", Some(every)) => Course::Step {
                every: every.max(1),
                factor: section.decay_factor,
            },
            ("cosine", _) => Course::Cosine {
                min: section.min_factor,
            },
            _ => Course::Constant,
        };
        Self {
            warmup: section.warmup_steps,
            course,
        }
    }

    /// What to multiply the base rate by, from 0 to 1, in the committed global step `step` (from 0) of `total`.
    ///
    /// Step w of W of warm-up has (w + 1) / W. After it, with t steps gone of the T left: `step` has
    /// `decay_factor` to the power of the whole number of `decay_every` in t; `cosine` has
    /// m + (1 - m) (1 + cos(pi t / T)) / 2 (Loshchilov and Hutter, 2017, without restarts), m being `min_factor`.
    /// So m is reached as the run ends, and no step is spent at a rate of 0.
    pub fn factor(&self, step: u64, total: u64) -> f32 {
        if step < self.warmup {
            return ((step + 1) as f64 / self.warmup as f64) as f32;
        }
        let gone = step - self.warmup;
        let left = total.saturating_sub(self.warmup).max(1);
        let factor = match self.course {
            Course::Constant => 1.0,
            Course::Step { every, factor } => libm::pow(factor, (gone / every) as f64),
            Course::Cosine { min } => {
                let part = (gone as f64 / left as f64).min(1.0);
                min + (1.0 - min) * 0.5 * (1.0 + libm::cos(PI * part))
            }
        };
        factor as f32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn section(
        lr: &str,
        warmup_steps: u64,
        decay_every: Option<u64>,
        decay: f64,
        min: f64,
    ) -> ScheduleSection {
        let (lr, decay_factor, min_factor) = (lr.into(), decay, min);
        ScheduleSection {
            lr,
            warmup_steps,
            decay_every,
            decay_factor,
            min_factor,
            ..Default::default()
        }
    }

    #[test]
    fn the_published_shapes() {
        let step = LearningRate::new(&section("step", 2, Some(3), 0.1, 0.0));
        let factors: Vec<_> = (0..9).map(|s| step.factor(s, 9)).collect();
        assert_eq!(factors, [0.5, 1.0, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.01]);
        let cosine = LearningRate::new(&section("cosine", 0, None, 0.1, 0.2));
        assert_eq!(cosine.factor(0, 100), 1.0);
        assert!((cosine.factor(50, 100) - 0.6).abs() < 1e-6);
        assert!((cosine.factor(100, 100) - 0.2).abs() < 1e-6);
    }

    proptest! {
            #[test]
            fn it_rises_to_one_then_never_rises_again(
                lr in prop::sample::select(vec!["constant", "step", "cosine"]),
                warmup in 0u64..50, every in 1u64..50, decay in 0.0f64..=1.0, min in 0.0f64..=1.0, total in 1u64..200,
            ) {
                let rate = LearningRate::new(&section(lr, warmup, Some(every), decay, min));
                let factors: Vec<_> = (0..total + 60).map(|s| rate.factor(s, total)).collect();
                for (s, pair) in factors.windows(2).enumerate() {
                    let rising = (s as u64 + 1) < warmup;
                    prop_assert!(if rising { pair[0] < pair[1] } else { pair[0] >= pair[1] }, "step {s}: {pair:?}");
                }
                prop_assert!(factors.iter().all(|f| (0.0..=1.0).contains(f)));
    prop_assert_eq!(factors[warmup.saturating_sub(1) as usize], 1.0);
            }

            #[test]
            fn any_numbers_give_a_finite_factor(step: u64, total: u64, warmup: u64, every: u64) {
                for lr in ["constant", "step", "cosine"] {
                    let rate = LearningRate::new(&section(lr, warmup, Some(every), 0.5, 0.0));
                    prop_assert!((0.0..=1.0).contains(&rate.factor(step, total)));
                }
            }
        }
}
