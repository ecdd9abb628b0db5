//! When a step takes so long that somebody should be told, and what to tell: a pure function of what was seen when.

use dae_collective::{Doing, Seen};
use std::collections::VecDeque;
use std::time::Duration;

/// So many times the median step is no longer normal.
const TIMES: u32 = 20;
/// Shorter waits are nobody's business.
const LEAST: Duration = Duration::from_secs(2);
/// The median is of so many looks, the latest.
const LOOKS: usize = 64;

/// Watches one group: it is shown every now and then how many steps were done, and who is at what.
pub(super) struct StallWatch {
    /// The bound that ends the run; what is told comes before it.
    stall: Duration,
    /// Steps done, and when that was seen first.
    progress: u64,
    since: Duration,
    /// How long steps took, as far as that can be seen from one look to the next.
    paces: VecDeque<Duration>,
    /// How long the wait is to be before it is told once more.
    next: Option<Duration>,
    /// What each rank was at, and since when.
    doing: Vec<(Doing, Duration)>,
}

/// What there is to tell of a step that takes too long.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stall {
    /// How long nothing was committed.
    pub(super) waited: Duration,
    /// Who is at what, of those that are waited for.
    pub(super) what: String,
}

impl StallWatch {
    /// A watch from `now` on, at so many steps done.
    pub(super) fn new(stall: Duration, now: Duration, progress: u64) -> Self {
        Self { stall, progress, since: now, paces: VecDeque::new(), next: None, doing: vec![] }
    }

    /// How long a step may take before it is told: 20 times the median so far, and at least 2 seconds. Before any was
    /// done nothing is normal, and it is a quarter of the bound that ends the run.
    fn bound(&self) -> Duration {
        let mut paces: Vec<_> = self.paces.iter().copied().collect();
        let middle = paces.len() / 2;
        let normal = match paces.is_empty() {
            true => self.stall / 4,
            false => paces.select_nth_unstable(middle).1.saturating_mul(TIMES),
        };
        normal.max(LEAST)
    }

    /// Looks at `now`, a time that only grows: what there is to tell, once a stall and then whenever it has become twice as
    /// long. While the group `rests`, it is another that is waited for.
    pub(super) fn look(
        &mut self,
        now: Duration,
        progress: u64,
        rests: bool,
        seen: &[Seen],
        nodes: &[String],
    ) -> Option<Stall> {
        self.doing.resize(seen.len(), (Doing::Unknown, now));
        for (was, seen) in self.doing.iter_mut().zip(seen) {
            if was.0 != seen.doing {
                *was = (seen.doing, now);
            }
        }
        if progress != self.progress || rests {
            let steps = u32::try_from(progress.wrapping_sub(self.progress)).unwrap_or(u32::MAX);
            if let Some(pace) = (now - self.since).checked_div(steps) {
                self.paces.truncate(LOOKS - 1);
                self.paces.push_front(pace);
            }
            (self.progress, self.since, self.next) = (progress, now, None);
            return None;
        }
        let waited = now - self.since;
        let bound = self.next.unwrap_or_else(|| self.bound());
        if waited < bound || waited >= self.stall {
            return None;
        }
        self.next = Some(waited * 2);
        Some(Stall { waited, what: self.tell(now, seen, nodes) })
    }

    fn tell(&self, now: Duration, seen: &[Seen], nodes: &[String]) -> String {
        let missing = seen.iter().any(|seen| seen.missing);
        let waited_for = seen.iter().zip(&self.doing).filter(|(seen, _)| seen.missing || !missing);
        let said = waited_for.map(|(seen, (_, since))| {
            let long = (now - (*since).max(self.since)).as_secs_f64();
            format!("rank {} has been {} for {long:.1} s", seen.rank, seen.doing.describe(nodes))
        });
        let said = said.collect::<Vec<_>>().join(", ");
        let waits: Vec<_> = seen.iter().filter(|seen| seen.waits).map(|seen| seen.rank).collect();
        if waits.is_empty() { said } else { format!("{said}; ranks {waits:?} wait") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn rank(rank: usize, missing: bool, doing: Doing) -> Seen {
        Seen { rank, missing, waits: !missing, doing }
    }

    /// Looks every half a second while steps take `pace`, and then none is done any more: when it is told.
    fn told(stall: f64, pace: f64, steps: u64) -> Vec<f64> {
        let mut watch = StallWatch::new(s(stall), s(0.0), 0);
        let (mut told, mut at) = (vec![], 0.0);
        let end = pace * steps as f64;
        while at < end + stall + 5.0 {
            at += 0.5;
            let progress = ((at / pace) as u64).min(steps);
            if let Some(stall) = watch.look(s(at), progress, false, &[], &[]) {
                assert!(at > end);
                told.push(stall.waited.as_secs_f64());
            }
        }
        told
    }

    #[test]
    fn it_is_told_once_and_then_ever_more_rarely() {
        assert_eq!(told(60.0, 0.001, 5000), [2.0, 4.0, 8.0, 16.0, 32.0]);
        // Slow steps are normal where all are slow.
        assert_eq!(told(300.0, 1.0, 30), [20.0, 40.0, 80.0, 160.0]);
        // Before the first step nothing is normal.
        assert_eq!(told(40.0, 0.001, 0), [10.0, 20.0]);
        assert_eq!(told(1.0, 0.001, 100), [0.0; 0], "the run ends before");
    }

    #[test]
    fn who_is_waited_for_is_told_with_what_it_is_at_and_how_long() {
        let names = ["a".to_owned(), "b".to_owned()];
        let mut watch = StallWatch::new(s(60.0), s(0.0), 0);
        let seen = |doing| [rank(2, true, doing), rank(3, false, Doing::Applying)];
        for half in 1..=10_u32 {
            assert_eq!(
                watch.look(s(f64::from(half) / 2.0), half.into(), false, &seen(Doing::Gradient), &names),
                None
            );
        }
        assert_eq!(watch.look(s(6.0), 10, false, &seen(Doing::Data), &names), None);
        let stall = watch.look(s(15.0), 10, false, &seen(Doing::Data), &names).unwrap();
        let what = "rank 2 has been waiting for its data for 9.0 s; ranks [3] wait";
        assert_eq!(stall, Stall { waited: s(10.0), what: what.into() });
        // Nobody is missing here: all wait for another node.
        let mut watch = StallWatch::new(s(60.0), s(0.0), 0);
        let all = [0, 1].map(|n| Seen { waits: false, ..rank(n, false, Doing::Exchange(2)) });
        let stall = watch.look(s(15.0), 0, false, &all, &names).unwrap();
        let of = |n| format!("rank {n} has been in the exchange with b for 0.0 s");
        assert_eq!(stall.what, [of(0), of(1)].join(", "));
        let stall = watch.look(s(31.0), 0, false, &all, &names).unwrap();
        assert!(
            stall.what.starts_with("rank 0 has been in the exchange with b for 16.0 s"),
            "{}",
            stall.what
        );
    }

    #[test]
    fn who_rests_is_not_stalled() {
        let mut watch = StallWatch::new(s(60.0), s(0.0), 0);
        for n in 1..100 {
            assert_eq!(watch.look(s(f64::from(n)), 0, true, &[], &[]), None);
        }
        assert_eq!(watch.look(s(101.0), 0, false, &[], &[]), None);
        assert!(watch.look(s(120.0), 0, false, &[], &[]).is_some());
    }

    proptest! {
        #[test]
        fn it_is_never_told_while_steps_are_done_or_too_early(
            looks in prop::collection::vec((1_u64..3000, 0_u64..3), 1..200), stall in 1_u64..100,
        ) {
            let stall = Duration::from_secs(stall);
            let mut watch = StallWatch::new(stall, Duration::ZERO, 0);
            let (mut now, mut progress, mut since) = (Duration::ZERO, 0, Duration::ZERO);
            for (ms, steps) in looks {
                now += Duration::from_millis(ms);
                progress += steps;
                let told = watch.look(now, progress, false, &[], &[]);
                if steps > 0 {
                    since = now;
                }
                if let Some(told) = told {
                    prop_assert_eq!((steps, told.waited), (0, now - since));
                    prop_assert!(told.waited >= LEAST && told.waited < stall);
                }
            }
        }
    }
}
