//! Groups that break when a step has been applied and not told: the log has it all the same.

use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Rig, topology, until};
use dae_collective::Broken;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_step_that_all_applied_is_told_once_whatever_breaks_after_it() {
    let mut topology = topology("split 2 | step adam(0.02)");
    topology.job.restarts = 100;
    let whole = Rig::new(&topology).run().finished();
    for _ in 0..3 {
        let begun = AtomicU64::new(0);
        let model = Linear::new(FEATURES).acting(move |now| {
            // Once a step: as soon as rank 0 has applied it, and waits for the other, or has just met it.
            if now.member.rank() == 0 && begun.fetch_max(now.step, Ordering::SeqCst) < now.step {
                let (arena, applied) = (now.member.arena().clone(), now.member.arena().progress());
                std::thread::spawn(move || {
                    assert!(until(|| arena.progress() > applied));
                    arena.break_with(Broken::Left { rank: 1, cause: "cut".into() });
                });
            }
            Act::Compute
        });
        let ran = Rig::new(&topology).backend(model).run().finished();
        assert!(ran.restarts().len() > 10, "the group broke again and again");
        assert_eq!(ran.bits(), whole.bits());
        assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
    }
}
