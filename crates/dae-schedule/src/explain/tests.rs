//! Any schedule there may be: it has a cost, an explanation and a picture.

use proptest::prelude::*;

use super::{explain, picture};
use crate::cost::{Facts, Figures, Straggler};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn all_words_are_priced_and_explained(schedule in crate::testing::schedule(), slow in 0..3_usize) {
        let straggler = [
            Straggler::None,
            Straggler::Constant { worker: 0, factor: 4.0 },
            Straggler::LogNormal { sigma: 0.2 },
        ][slow];
        let figures = Figures { straggler, ..Figures::default() };
        for word in schedule.words() {
            let told = explain(word, &Facts::of_params(10_000, 8), &figures).unwrap();
            prop_assert!(told.cost.step_s > 0.0 && told.cost.step_s.is_finite());
            prop_assert!(told.cost.step_s >= 0.99 * told.cost.compute_s, "{} {:?}", word, told.cost);
            prop_assert!((0.0..=1.0).contains(&told.cost.idle_share));
            if let Some(nearest) = &told.synchronous {
                let nearest = crate::parse(&nearest.word).unwrap().into_word().unwrap();
                prop_assert!(nearest.model().is_empty() && nearest.workers() == word.workers());
            }
            prop_assert!(picture(word, &told.cost).ends_with("</svg>\n"));
        }
    }
}
