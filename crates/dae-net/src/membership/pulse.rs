//! [`Pulse`]: how suspicious a silence is.

use std::time::{Duration, Instant};

/// Phi: the silence in units of the usual interval between heartbeats. A member is suspected from here on ...
pub(super) const SUSPECT_PHI: f64 = 5.0;
/// ... and has left from here on: 2 s to 2.6 s.
pub(super) const LEFT_PHI: f64 = 8.0;
/// In a large cluster news of a node come many times a second, by many ways; yet all of them may stop for a while when
/// the cores are busy. So the usual interval counts as no shorter than this, ...
const SHORTEST: Duration = Duration::from_millis(250);
/// ... and, so that a dead node is noticed within 3 s, as no longer than this.
const LONGEST: Duration = Duration::from_millis(325);
/// The weight of the newest interval in the mean.
const NEWEST: f64 = 0.1;

/// The heartbeats of one node.
#[derive(Clone, Debug)]
pub(super) struct Pulse {
    last: Instant,
    /// Seconds; `None` before the first heartbeat.
    mean: Option<f64>,
}

impl Pulse {
    /// The pulse of a node which has not been heard.
    pub fn since(now: Instant) -> Self {
        Self { last: now, mean: None }
    }

    pub fn beat(&mut self, now: Instant) {
        let interval = self.silence(now).as_secs_f64();
        let mean = self.mean.unwrap_or(SHORTEST.as_secs_f64());
        let mean = mean + NEWEST * (interval.min(1.0) - mean);
        self.mean = Some(mean.clamp(SHORTEST.as_secs_f64(), LONGEST.as_secs_f64()));
        self.last = now;
    }

    /// Time went by in which nobody could have been heard: it does not count.
    pub fn forgive(&mut self, time: Duration, now: Instant) {
        self.last = (self.last + time).min(now);
    }

    pub fn silence(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.last)
    }

    /// `None` before the first heartbeat.
    pub fn phi(&self, now: Instant) -> Option<f64> {
        self.mean.map(|_| self.suspicion(now))
    }

    /// Phi; before the first heartbeat as if the node were of the slowest rhythm.
    pub fn suspicion(&self, now: Instant) -> f64 {
        self.silence(now).as_secs_f64() / self.mean.unwrap_or(LONGEST.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_noticed_between_2_s_and_2_6_s_whatever_the_rhythm() {
        for interval_ms in [1, 50, 250, 900, 5000] {
            let mut now = Instant::now();
            let mut pulse = Pulse::since(now);
            assert_eq!(pulse.phi(now), None);
            assert!(pulse.suspicion(now + Duration::from_millis(2590)) < LEFT_PHI, "never heard");
            assert!(pulse.suspicion(now + Duration::from_millis(2601)) > LEFT_PHI, "never heard");
            for _ in 0..100 {
                now += Duration::from_millis(interval_ms);
                pulse.beat(now);
            }
            assert!(pulse.phi(now + Duration::from_millis(1990)).unwrap() < LEFT_PHI, "{interval_ms}");
            assert!(pulse.phi(now + Duration::from_millis(2601)).unwrap() > LEFT_PHI, "{interval_ms}");
            assert!(pulse.phi(now + Duration::from_millis(1200)).unwrap() < SUSPECT_PHI, "{interval_ms}");
        }
    }
}
