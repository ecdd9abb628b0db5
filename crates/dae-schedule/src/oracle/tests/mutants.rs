//! Each deliberate bug breaks a law.

use super::laws::LAWS;
use crate::oracle::mutant::{Mutant, with};

/// Each bug, and a law that it breaks; there may be more.
const BUGS: &[(Mutant, &str)] = &[
    (Mutant::WrongSign, "m5"),
    (Mutant::LostWeight, "m2"),
    (Mutant::LostResidual, "c1"),
    (Mutant::DroppedTail, "g4"),
    (Mutant::DoublePush, "m3"),
    (Mutant::SlackOffByOne, "m4"),
    (Mutant::MomentumReset, "m2"),
    (Mutant::MeanOfMeans, "g4"),
    (Mutant::StaleInverted, "log"),
    (Mutant::DelayUncorrected, "delay_is_corrected"),
    (Mutant::OuterStatePerWorker, "m3"),
    (Mutant::MixLosesMass, "m7"),
    (Mutant::PushWithoutWeight, "m7"),
    (Mutant::LateKept, "log"),
    (Mutant::EveryOneShort, "m1"),
    (Mutant::OldPull, "m2"),
    (Mutant::ElasticPull, "m9"),
    (Mutant::LostFragment, "m8"),
    (Mutant::DelayIgnored, "m8"),
    (Mutant::Unrepeatable, "m10"),
    (Mutant::UnsavedResidual, "p1"),
];

#[test]
fn every_bug_breaks_its_law() {
    for (bug, name) in BUGS {
        let law = LAWS.iter().find(|law| law.name == *name).unwrap();
        assert!((law.holds)(64).is_ok(), "{name} does not hold without a bug");
        assert!(with(*bug, || (law.holds)(64)).is_err(), "{bug:?} does not break {name}");
    }
}

/// Which laws each bug breaks, for those who want to see.
#[test]
#[ignore = "a table, not a test: run it with --nocapture"]
fn which_bug_breaks_which_laws() {
    for (bug, _) in BUGS {
        let broken = LAWS.iter().filter(|law| with(*bug, || (law.holds)(64)).is_err());
        println!("{bug:?}: {}", broken.map(|law| law.name).collect::<Vec<_>>().join(" "));
    }
}
