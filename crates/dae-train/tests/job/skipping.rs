//! `on_nonfinite = "skip_if_any"`: all skip a step alike, nothing of it stays, and the run goes on.

use crate::linear::{Act, Linear, Moment};
use crate::rig::{FEATURES, Folder, Ran, Rig, topology};
use dae_train::topology::Topology;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BAD: u64 = 18;

fn skipping(word: &str) -> Topology {
    let mut topology = topology(word);
    topology.job.on_nonfinite = "skip_if_any".into();
    topology
}

fn model(act: impl Fn(&Moment<'_>) -> Act + Send + Sync + 'static) -> Linear {
    Linear::new(FEATURES).acting(act)
}

/// Does this in step [`BAD`] on that rank.
fn once(rank: usize, act: Act) -> Linear {
    model(move |now| if now.is(rank, BAD) { act } else { Act::Compute })
}

/// The whole state after so many steps, as checkpoints have it, and the run that wrote it down.
fn state(topology: &Topology, steps: u64, rank: usize, act: Act) -> (Vec<Vec<u32>>, Ran) {
    let folder = Folder::new();
    let rig = Rig::new(&topology.clone().steps(steps)).backend(once(rank, act));
    let ran = folder.run(rig).unwrap().finished();
    let checkpoint = folder.read(steps);
    assert_eq!(checkpoint.meta.step, steps);
    let buffers = checkpoint.state.iter().chain([&checkpoint.params]);
    (buffers.map(|flat| flat.iter().map(|x| x.to_bits()).collect()).collect(), ran)
}

#[test]
fn nothing_of_a_skipped_step_stays() {
    let bad = [
        (Act::Loss(f64::NAN), "loss", None),
        (Act::Loss(f64::INFINITY), "loss", None),
        (Act::Gradient(5, f32::NAN), "gradient", Some("weight")),
        (Act::Gradient(150, f32::NEG_INFINITY), "gradient", Some("bias")),
    ];
    let folds = ["split 3", "accum 2 | split 3", "split 3 order=exact"];
    for (n, fold) in folds.into_iter().enumerate() {
        for optimizer in ["adam(0.01)", "sgd(0.05, momentum=0.9) clip=0.1"] {
            let topology = skipping(&format!("{fold} | step {optimizer}"));
            for (act, what, tensor) in bad {
                let (before, _) = state(&topology, BAD - 1, n, act);
                let (after, ran) = state(&topology, BAD, n, act);
                assert_eq!(before, after, "{fold}, {optimizer}, {act:?}");
                let who = format!("worker {n}");
                let want =
                    json!({"type": "skipped", "step": BAD, "worker": who, "what": what, "tensor": tensor});
                assert_eq!(ran.log.events("skipped"), [want]);
                assert_eq!((ran.report.step, ran.report.skipped), (BAD, 1));
                let steps = ran.log.events("step");
                assert_eq!(
                    (steps.len() as u64, &steps[17]["samples"]),
                    (BAD, &(steps[0]["samples"].as_u64().unwrap() * BAD).into())
                );
            }
        }
    }
}

#[test]
fn a_sum_that_may_be_too_large_is_skipped_and_is_nobodys() {
    for fold in ["split 3", "split 3 order=exact"] {
        for clip in ["", " clip=1"] {
            let model = model(|now| match now.step {
                BAD => Act::Gradient(5, f32::MAX),
                _ => Act::Compute,
            });
            let ran =
                Rig::new(&skipping(&format!("{fold} | step sgd(0.1){clip}"))).backend(model).run().finished();
            let want =
                json!({"type": "skipped", "step": BAD, "worker": null, "what": "gradient", "tensor": null});
            assert_eq!(ran.log.events("skipped"), [want]);
            assert!(ran.params().iter().all(|p| p.is_finite()));
        }
    }
}

#[test]
fn where_nothing_is_bad_nothing_changes() {
    for fold in ["split 3", "split 3 order=exact"] {
        let word = format!("{fold} | step adam(0.02) clip=0.3");
        let stops = Rig::new(&topology(&word)).run().finished();
        let skips = Rig::new(&skipping(&word)).run().finished();
        assert_eq!((skips.bits(), skips.log.lines("step")), (stops.bits(), stops.log.lines("step")));
        assert_eq!(skips.report.skipped, 0);
    }
}

#[test]
fn a_run_stopped_between_skipped_steps_equals_one_left_alone() {
    let topology = skipping("split 2 | step adam(0.02)").checkpoint_every(7);
    let bad = |rig: Rig| {
        rig.backend(model(|now| match (now.member.rank(), now.step) {
            (1, 18 | 19 | 28 | 40) => Act::Gradient(5, f32::NAN),
            _ => Act::Compute,
        }))
    };
    let whole = Rig::new(&topology);
    let whole = bad(whole).run().finished();
    let folder = Folder::new();
    // It ends on a skipped step the first time.
    let _ = folder.run(bad(Rig::new(&topology.clone().steps(28)))).unwrap().finished();
    let ran = folder.resume(bad(Rig::new(&topology))).unwrap().finished();
    assert_eq!((ran.first, ran.bits()), (28, whole.bits()));
    for kind in ["step", "skipped"] {
        assert_eq!(ran.log.lines(kind), whole.log.lines(kind));
    }
    assert_eq!((whole.report.skipped, ran.report.skipped), (4, 1));
}

#[test]
fn a_worker_that_fails_after_a_skipped_step_costs_nothing() {
    let topology = skipping("split 2 | step adam(0.02)");
    let whole = Rig::new(&topology).backend(once(1, Act::Loss(f64::NAN))).run().finished();
    let failed = Arc::new(AtomicU64::new(0));
    let fails = model(move |now| match (now.member.rank(), now.step) {
        (1, BAD) => Act::Loss(f64::NAN),
        (0, step) if step == BAD + 1 && failed.fetch_add(1, Ordering::Relaxed) == 0 => Act::Fail("once"),
        _ => Act::Compute,
    });
    let ran = Rig::new(&topology).backend(fails).run().finished();
    assert_eq!(ran.restarts().len(), 1);
    assert_eq!(ran.bits(), whole.bits());
    for kind in ["step", "skipped"] {
        assert_eq!(ran.log.lines(kind), whole.log.lines(kind));
    }
}

#[test]
fn a_run_that_skips_for_ever_ends() {
    let topology = skipping("split 2 | step sgd(0.1)").steps(400).checkpoint_every(5);
    let bad = |from: u64, many: u64| {
        model(move |now| {
            now.patient();
            let bad = (from..from + many).contains(&now.step) && now.member.rank() == 1;
            if bad { Act::Gradient(5, f32::NAN) } else { Act::Compute }
        })
    };
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&topology).backend(bad(21, 1000))).unwrap();
    let want = "the gradient of worker 1 was not a finite number in step 120; it was the last of 100 in a row that were \
                skipped for such numbers (job.on_nonfinite)";
    assert!(ran.failed().starts_with(want), "{}", ran.failed());
    assert_eq!((ran.report.step, ran.report.skipped, ran.restarts()), (120, 100, vec![]));
    // No copy was kept whose own loss or gradient had not been seen to be good.
    assert_eq!(folder.kept(), [5, 10, 15]);
    // One step less is no failure.
    let ran = Rig::new(&topology).backend(bad(21, 99)).run().finished();
    assert_eq!((ran.report.step, ran.report.skipped), (400, 99));
}

#[test]
fn all_nodes_skip_alike_by_any_means() {
    let means = [
        ("", ""),
        (" order=exact", ""),
        ("", " algo=ring"),
        ("", " wire=bf16"),
        ("", " wire=int8"),
        ("", " wire=topk(0.2)"),
        ("", " wire=powersgd(2)"),
    ];
    for (local_means, means) in means {
        for optimizer in ["adam(0.01)", "sgd(0.05) clip=0.5"] {
            for (nodes, local) in [(2, 2), (3, 1)] {
                let word = format!(
                    "split {local} @node{local_means} | split {nodes} @cluster{means} | step {optimizer}"
                );
                let topology = skipping(&word);
                let last = nodes * local - 1;
                let rigs = (0..nodes).map(|_| {
                    Rig::new(&topology).backend(model(move |now| match (now.member.rank(), now.step) {
                        (rank, BAD) if rank == last => Act::Gradient(5, f32::NAN),
                        (0, 30) => Act::Loss(f64::NAN),
                        _ => Act::Compute,
                    }))
                });
                let ran: Vec<_> = Folder::new()
                    .nodes(rigs.collect(), false)
                    .into_iter()
                    .map(|ran| ran.unwrap().finished())
                    .collect();
                for node in &ran {
                    assert_eq!((node.report.step, node.report.skipped), (60, 2), "{word}");
                    assert_eq!(node.bits(), ran[0].bits(), "{word}");
                    assert!(node.params().iter().all(|p| p.is_finite()), "{word}");
                }
                let name = ["a", "b", "c"][nodes - 1];
                let events = ran[0].log.events("skipped");
                assert_eq!(events[0]["worker"], format!("worker {last} on {name}"));
                assert_eq!(events[0]["tensor"], "weight");
                assert_eq!(events[1]["worker"], "worker 0 on a");
            }
        }
    }
}
