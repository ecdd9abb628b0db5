//! [`Straggler`]: who is slow, when, and how much; and the slowest of a group.

use super::random::{Random, normal_above};
use super::refused::{Refused, within};

/// Who is slow, when, and how much. Each step of each worker draws anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Straggler {
    /// Nobody.
    #[default]
    None,
    /// One worker, always: it takes `factor` times as long, 1 to 1e6.
    Constant {
        /// Which, below the number of workers.
        worker: u32,
        /// How many times as long.
        factor: f64,
    },
    /// Anybody, now and then: with probability `p` a step takes `factor` times as long, 1 to 1e6.
    Probability {
        /// How often, 0 to 1.
        p: f64,
        /// How many times as long.
        factor: f64,
    },
    /// All, always a little: the time is e to the power of `sigma` times a standard normal number, 0 to 5; half of the
    /// steps are shorter than `compute_s`.
    LogNormal {
        /// The spread.
        sigma: f64,
    },
}

impl Straggler {
    /// Reads `none`, `lognormal:SIGMA`, `p:PROBABILITY,FACTOR`, `one:FACTOR`.
    ///
    /// # Errors
    /// A sentence that says what can be written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let read = match text.split_once(':') {
            None if text == "none" => Some(Self::None),
            Some(("lognormal", sigma)) => number(sigma).map(|sigma| Self::LogNormal { sigma }),
            Some(("one", factor)) => number(factor).map(|factor| Self::Constant { worker: 0, factor }),
            Some(("p", both)) => {
                let both = both.split_once(',').and_then(|(p, factor)| number(p).zip(number(factor)));
                both.map(|(p, factor)| Self::Probability { p, factor })
            }
            _ => None,
        };
        let straggler = read.ok_or("write none, lognormal:0.2, p:0.125,4 or one:4")?;
        let mut refused = Vec::new();
        straggler.check(1, &mut refused);
        refused.first().map_or(Ok(straggler), |refused| Err(refused.to_string()))
    }

    /// Refuses what cannot be, for a word of so many workers.
    pub(crate) fn check(&self, workers: u32, refused: &mut Vec<Refused>) {
        const FACTOR: (f64, f64) = (1.0, 1e6);
        match *self {
            Self::None => {}
            Self::Constant { worker, factor } => {
                within("straggler's factor", factor, FACTOR, refused);
                within("straggler's number", f64::from(worker), (0.0, f64::from(workers) - 1.0), refused);
            }
            Self::Probability { p, factor } => {
                within("straggler's factor", factor, FACTOR, refused);
                within("straggler's probability", p, (0.0, 1.0), refused);
            }
            Self::LogNormal { sigma } => within("straggler's sigma", sigma, (0.0, 5.0), refused),
        }
    }
}

/// How many times as long as it should a group takes of which all wait for all: the slowest of so many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowest {
    straggler: Straggler,
    many: f64,
    /// Whether the one that is always slow is among them.
    marked: bool,
}

/// Points at which an expectation is summed.
const POINTS: u32 = 2048;

impl Slowest {
    pub(crate) fn of(straggler: Straggler, many: u32, marked: bool) -> Self {
        Self { straggler, many: f64::from(many.max(1)), marked }
    }

    /// The slowest of so many such groups.
    pub(crate) fn of_groups(self, groups: u32) -> Self {
        Self { many: self.many * f64::from(groups), ..self }
    }

    /// Whether each draw is the same.
    pub(crate) fn is_constant(&self) -> bool {
        match self.straggler {
            Straggler::None | Straggler::Constant { .. } => true,
            Straggler::Probability { p, factor } => p == 0.0 || p == 1.0 || factor == 1.0,
            Straggler::LogNormal { sigma } => sigma == 0.0,
        }
    }

    /// The value which a draw is below with this probability.
    fn quantile(&self, below: f64) -> f64 {
        match self.straggler {
            Straggler::None => 1.0,
            Straggler::Constant { factor, .. } => {
                if self.marked {
                    factor
                } else {
                    1.0
                }
            }
            Straggler::Probability { factor, .. } => {
                if below < 1.0 - self.slow() {
                    1.0
                } else {
                    factor
                }
            }
            // All are below where each is below, so each is with the root of the probability.
            Straggler::LogNormal { sigma } => {
                (sigma * normal_above(-(below.ln() / self.many).exp_m1())).exp()
            }
        }
    }

    /// The probability that one at least is slow.
    fn slow(&self) -> f64 {
        match self.straggler {
            Straggler::Probability { p, .. } => 1.0 - (1.0 - p).powf(self.many),
            _ => 0.0,
        }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        if self.is_constant() { self.quantile(0.5) } else { self.quantile(random.unit()) }
    }

    /// Expectation and standard deviation.
    pub(crate) fn moments(&self) -> (f64, f64) {
        if self.is_constant() {
            return (self.quantile(0.5), 0.0);
        }
        if let Straggler::Probability { factor, .. } = self.straggler {
            let slow = self.slow();
            return (1.0 + slow * (factor - 1.0), (factor - 1.0) * (slow * (1.0 - slow)).sqrt());
        }
        let points = (0..POINTS).map(|i| self.quantile((f64::from(i) + 0.5) / f64::from(POINTS)));
        let (sum, squares) = points.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        let (mean, square) = (sum / f64::from(POINTS), squares / f64::from(POINTS));
        (mean, (square - mean * mean).max(0.0).sqrt())
    }

    /// How long one of them computes on average, waits left out.
    pub(crate) fn work_of_one(&self) -> f64 {
        match self.straggler {
            Straggler::Constant { factor, .. } if self.marked => (self.many - 1.0 + factor) / self.many,
            _ => Self { many: 1.0, marked: false, ..*self }.moments().0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_eight_that_are_slow_now_and_then() {
        let slowest = Slowest::of(Straggler::Probability { p: 0.125, factor: 4.0 }, 8, false);
        let expected = 1.0 + 3.0 * (1.0 - 0.875_f64.powi(8));
        assert!((slowest.moments().0 - expected).abs() < 1e-12 && (expected - 2.97).abs() < 0.01);
        let mut random = Random(1);
        let drawn = (0..20_000).map(|_| slowest.draw(&mut random)).sum::<f64>() / 20_000.0;
        assert!((drawn - expected).abs() < 0.03, "{drawn}");
    }

    #[test]
    fn the_slowest_of_many_lognormal_ones() {
        let of = |many| Slowest::of(Straggler::LogNormal { sigma: 0.2 }, many, false).moments().0;
        assert!((of(1) - (0.02_f64).exp()).abs() < 1e-3, "the mean of one is e^(sigma^2/2): {}", of(1));
        // The expected largest of 1,000 standard normal numbers is 3.24.
        assert!((of(1000) - (0.2_f64 * 3.24).exp()).abs() < 0.05, "{}", of(1000));
    }

    #[test]
    fn texts_are_read() {
        assert_eq!(Straggler::parse("p:0.125,4"), Ok(Straggler::Probability { p: 0.125, factor: 4.0 }));
        assert_eq!(Straggler::parse("one:4"), Ok(Straggler::Constant { worker: 0, factor: 4.0 }));
        for text in ["", "all", "p:2,4", "p:.5", "one:0.5", "one:nan", "lognormal:inf", "lognormal:-1"] {
            assert!(Straggler::parse(text).is_err(), "{text}");
        }
    }
}
