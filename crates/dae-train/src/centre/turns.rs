//! When the fragments of a join are due.

/// The fragments of a centre take turns within a round (streaming DiLoCo; Douillard et al. 2025): fragment i is pushed
/// after (i + 1) h/P of its h steps, and taken up some steps later, before its next turn and that of any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turns {
    /// Fragments, at least 1.
    pub fragments: u64,
    /// Steps between two turns, at least 1.
    pub apart: u64,
    /// Steps a fragment travels, fewer than those.
    pub delay: u64,
}

/// What is due after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A fragment is pushed.
    Push(usize),
    /// A fragment is taken up.
    Merge(usize),
}

impl Turns {
    /// What is due after so many steps of a round, counted from 1, in order. Only a round that goes on from another one
    /// takes up what that has left under way.
    pub fn after(&self, step: u64, goes_on: bool) -> impl Iterator<Item = Turn> + use<> {
        let Self { fragments, apart, delay } = *self;
        let push = step.is_multiple_of(apart).then(|| Turn::Push((step / apart - 1) as usize));
        let pushed = match step.checked_sub(delay) {
            Some(pushed) if pushed > 0 => pushed.is_multiple_of(apart).then(|| pushed / apart - 1),
            _ => (goes_on && step == delay).then_some(fragments - 1),
        };
        let merge = pushed.map(|fragment| Turn::Merge(fragment as usize));
        // What travels no time is taken up at once; anything else that is due now was pushed before.
        let order = if delay == 0 { [push, merge] } else { [merge, push] };
        order.into_iter().flatten()
    }

    /// What a child has put into each fragment since that was pushed last, once it has done so many steps of a round, each
    /// of so many samples.
    pub fn since(&self, steps: u64, samples: f64) -> Vec<f64> {
        let steps_since = |fragment| steps.saturating_sub((fragment + 1) * self.apart);
        (0..self.fragments).map(|fragment| steps_since(fragment) as f64 * samples).collect()
    }

    /// As [`Turns::after`]; behind the last step of a run, all that is left of the round is due at once.
    pub fn due(&self, step: u64, last: bool, goes_on: bool) -> impl Iterator<Item = Turn> + use<> {
        let (turns, end) = (*self, if last { self.fragments * self.apart } else { step });
        (step..=end).flat_map(move |step| turns.after(step, goes_on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_turn_is_as_the_paper_has_it() {
        let turns = Turns { fragments: 2, apart: 3, delay: 2 };
        let due = |goes_on| (1..=6).map(|step| turns.after(step, goes_on).collect()).collect::<Vec<Vec<_>>>();
        let (push, merge) = (Turn::Push, Turn::Merge);
        assert_eq!(due(false), [vec![], vec![], vec![push(0)], vec![], vec![merge(0)], vec![push(1)]]);
        assert_eq!(due(true), [vec![], vec![merge(1)], vec![push(0)], vec![], vec![merge(0)], vec![push(1)]]);
        assert_eq!(turns.due(4, true, true).collect::<Vec<_>>(), [merge(0), push(1)]);
        let at_once = Turns { fragments: 1, apart: 2, delay: 0 };
        assert_eq!(at_once.after(2, true).collect::<Vec<_>>(), [push(0), merge(0)]);
        assert_eq!(turns.since(6, 4.0), [12.0, 0.0]);
    }

    proptest! {
        #[test]
        fn every_fragment_is_pushed_once_a_round_and_merged_before_its_next_turn(
            fragments in 1..6_u64, apart in 1..6_u64, delay in 0..6_u64, rounds in 1..4_u64,
        ) {
            let turns = Turns { fragments, apart, delay: delay % apart };
            let (mut now, mut under_way) = (0, None);
            for round in 0..rounds {
                let mut next = 0;
                for step in 1..=fragments * apart {
                    now += 1;
                    for turn in turns.after(step, round > 0) {
                        match turn {
                            Turn::Push(fragment) => {
                                prop_assert_eq!((under_way, fragment), (None, next));
                                (under_way, next) = (Some((fragment, now)), next + 1);
                            }
                            Turn::Merge(fragment) => {
                                prop_assert_eq!(under_way.take(), Some((fragment, now - turns.delay)));
                            }
                        }
                    }
                    // Nothing travels longer.
                    prop_assert!(under_way.is_none_or(|(_, pushed)| now < pushed + turns.delay));
                }
                prop_assert_eq!(next, fragments as usize);
            }
        }
    }
}
