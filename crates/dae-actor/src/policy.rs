//! How often and how soon an actor is restarted after a panic.

use std::time::Duration;

/// A restart policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Restarts allowed in the actor's whole life; one panic more and it stops for good.
    pub limit: u32,
    /// The pause before the first restart; it doubles with each one, up to 64 times this. Messages wait meanwhile.
    pub back_off: Duration,
}

impl Restart {
    /// The first panic stops the actor.
    pub const NEVER: Self = Self {
        limit: 0,
        back_off: Duration::ZERO,
    };

    /// At most `limit` restarts, the first after 10 ms.
    pub const fn at_most(limit: u32) -> Self {
        Self {
            limit,
            back_off: Duration::from_millis(10),
        }
    }

    /// The pause before restart number `n` (1-based), or `None` when the limit is reached.
    pub fn pause(&self, n: u32) -> Option<Duration> {
        (n <= self.limit).then(|| self.back_off * (1u32 << n.saturating_sub(1).min(6)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_end() {
        let r = Restart {
            limit: 9,
            back_off: Duration::from_millis(1),
        };
        let ms: Vec<_> = (1..=10).map(|n| r.pause(n).map(|d| d.as_millis())).collect();
        let want = [1, 2, 4, 8, 16, 32, 64, 64, 64].map(Some);
        assert_eq!((&ms[..9], ms[9]), (&want[..], None));
        assert_eq!(Restart::NEVER.pause(1), None);
    }
}
