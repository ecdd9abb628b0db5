//! What each rank brings to a step, and what all ranks decide from it alike.

/// One rank's part of a step, published before the reduce.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Contribution {
    /// The number of samples (the weight) behind its gradient, which is a sum over them.
    pub weight: f64,
    /// The sum of the loss over its samples.
    pub loss: f64,
    /// Whether it has been asked to stop after this step.
    pub stop: bool,
    /// Whether it proposes to copy the state after this step, for a checkpoint.
    pub snapshot: bool,
    /// Time spent computing before the wait, in seconds: the only place where a slow rank can be seen.
    pub compute_s: f64,
    /// The largest magnitude in its gradient, where somebody wants to know it before the step is applied: for an
    /// order-free sum that of its terms. 0 otherwise.
    pub peak: f32,
    /// The place in the flat gradient of its first number that is not finite, where `peak` says that there is one.
    pub bad_at: Option<u64>,
}

impl Contribution {
    /// The length of its encoding.
    pub(crate) const BYTES: usize = 37;

    /// For other nodes: little-endian, the two flags last; no place is the largest number.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (number, into) in [self.weight, self.loss, self.compute_s].iter().zip(bytes.chunks_mut(8)) {
            into.copy_from_slice(&number.to_le_bytes());
        }
        bytes[24..32].copy_from_slice(&self.bad_at.unwrap_or(u64::MAX).to_le_bytes());
        bytes[32..36].copy_from_slice(&self.peak.to_le_bytes());
        bytes[36] = u8::from(self.stop) | u8::from(self.snapshot) << 1;
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let numbers = bytes.as_chunks().0;
        let [weight, loss, compute_s] = [0, 1, 2].map(|n| f64::from_le_bytes(numbers[n]));
        let bad_at = Some(u64::from_le_bytes(numbers[3])).filter(|at| *at != u64::MAX);
        let [.., a, b, c, d, flags] = *bytes;
        let peak = f32::from_le_bytes([a, b, c, d]);
        Self { weight, loss, stop: flags & 1 != 0, snapshot: flags & 2 != 0, compute_s, peak, bad_at }
    }
}

/// Whose numbers spoil a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Culprit {
    /// The rank.
    pub rank: usize,
    /// Which of its numbers: `loss` or `gradient`.
    pub what: &'static str,
    /// Where in the flat gradient the first of them lies, if that is known.
    pub at: Option<u64>,
}

/// The decision on a step: a pure function of all contributions, hence the same on every rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commit {
    /// The sum of the weights; gradients are divided once, by this.
    pub weight: f64,
    /// The mean loss over all samples of the step.
    pub loss: f64,
    /// Whether everybody stops after this step.
    pub stop: bool,
    /// Whether everybody copies its slice of the state after this step.
    pub snapshot: bool,
    /// The first rank whose loss, or gradient as far as that is known, is not finite: nobody applies the step.
    pub culprit: Option<Culprit>,
    /// The rank that computed longest, and how long in seconds.
    pub slowest: (usize, f64),
}

impl Commit {
    /// Decides from the contributions, in rank order.
    pub fn decide(contributions: &[Contribution]) -> Self {
        let mut commit =
            Self { weight: 0.0, loss: 0.0, stop: false, snapshot: false, culprit: None, slowest: (0, 0.0) };
        for (rank, c) in contributions.iter().enumerate() {
            commit.weight += c.weight;
            commit.loss += c.loss;
            commit.stop |= c.stop;
            commit.snapshot |= c.snapshot;
            let what = if c.loss.is_finite() { "gradient" } else { "loss" };
            if !(c.loss.is_finite() && c.peak.is_finite()) && commit.culprit.is_none() {
                commit.culprit = Some(Culprit { rank, what, at: c.bad_at });
            }
            if c.compute_s > commit.slowest.1 {
                commit.slowest = (rank, c.compute_s);
            }
        }
        if commit.weight > 0.0 {
            commit.loss /= commit.weight;
        }
        commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_carried_and_divided_once() {
        let c = |weight, loss| Contribution { weight, loss, ..Default::default() };
        // Unequal counts: the mean over samples, not the mean of means.
        let commit = Commit::decide(&[c(1.0, 4.0), c(3.0, 6.0), c(0.0, 0.0)]);
        assert_eq!((commit.weight, commit.loss), (4.0, 2.5));
    }

    #[test]
    fn one_bad_loss_stops_all_and_is_named() {
        let c = |loss| Contribution { weight: 1.0, loss, ..Default::default() };
        let culprit = |all: &[Contribution]| Commit::decide(all).culprit.map(|c| (c.rank, c.what));
        assert_eq!(culprit(&[c(1.0), c(f64::NAN), c(f64::INFINITY)]), Some((1, "loss")));
        assert_eq!(culprit(&[c(1.0), c(2.0)]), None);
        let gradient = Contribution { peak: f32::INFINITY, ..c(1.0) };
        assert_eq!(culprit(&[c(1.0), gradient]), Some((1, "gradient")));
    }

    #[test]
    fn bytes_say_the_same() {
        let c = Contribution {
            weight: 3.0,
            loss: -0.1,
            stop: true,
            snapshot: false,
            compute_s: 1e-9,
            peak: 3e-7,
            bad_at: Some(77),
        };
        assert_eq!(Contribution::from_bytes(&c.to_bytes()), c);
        let c = Contribution { stop: false, snapshot: true, bad_at: None, ..c };
        assert_eq!(Contribution::from_bytes(&c.to_bytes()), c);
    }

    #[test]
    fn one_wish_to_stop_is_enough() {
        let c = |stop| Contribution { weight: 1.0, stop, ..Default::default() };
        assert!(Commit::decide(&[c(false), c(true)]).stop);
    }
}
