//! Several nodes, each a thread with actors and memory of its own: the same bits, one end for all.

use crate::endurance::dawdle;
use crate::linear::{Act, Linear, Moment};
use crate::made_up::MadeUp;
use crate::rig::{FEATURES, Folder, Ran, Rig, apart, topology};
use dae_train::actors::Ended;
use dae_train::checkpoint::{self, Checkpoint};
use dae_train::job::{JobError, JobHandle};
use dae_train::topology::Topology;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Runs a topology on so many nodes, which must all come to an end.
fn across(topology: &Topology, nodes: usize) -> Vec<Ran> {
    let rigs = (0..nodes).map(|_| Rig::new(topology)).collect();
    Folder::new().nodes(rigs, false).into_iter().map(|ran| ran.unwrap().finished()).collect()
}

/// Rigs of two nodes, whose model does this.
fn two(topology: &Topology, act: impl Fn(&Moment<'_>) -> Act + Send + Sync + 'static) -> Vec<Rig> {
    let act = Arc::new(act);
    let model = || {
        let act = act.clone();
        Linear::new(FEATURES).acting(move |now| act(now))
    };
    vec![Rig::new(topology).backend(model()), Rig::new(topology).backend(model())]
}

fn ended(runs: Vec<Result<Ran, JobError>>) -> [Ran; 2] {
    runs.into_iter().map(Result::unwrap).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn two_nodes_of_one_worker_are_one_node_of_two_to_the_bit() {
    // Moments, clipping, noise, a rate that moves, a tail at the end: all that a step is made of.
    for optimizer in ["adam(0.02) clip=0.3", "sgd(0.05, momentum=0.9)"] {
        let of = |folds: &str| {
            topology(&format!("{folds} | step {optimizer}")).epochs(32.3).masking(0.2).warmup(6).cosine(0.1)
        };
        let one = Rig::new(&of("accum 1 | split 2")).run().finished();
        assert!(one.report.step > 200, "{}", one.report.step);
        let nodes = across(&of("accum 1 | split 1 @node | split 2 @cluster"), 2);
        for node in &nodes {
            assert_eq!(node.bits(), one.bits());
            assert_eq!((node.report.step, node.report.loss), (one.report.step, one.report.loss));
        }
        assert_eq!(nodes[0].log.lines("step"), one.log.lines("step"));
        assert!(nodes[0].report.checkpoint.is_some() && nodes[1].report.checkpoint.is_none());
    }
}

#[test]
fn three_nodes_of_two_workers_are_one_node_of_six() {
    let of = |folds: &str| topology(&format!("{folds} | step adam(0.02) clip=0.3")).batch(2).steps(100);
    let one = Rig::new(&of("split 6")).run().finished();
    let nodes = across(&of("split 2 @node | split 3 @cluster"), 3);
    for node in &nodes {
        assert_eq!(node.bits(), nodes[0].bits(), "the nodes have come apart");
        let far = apart(node.params(), one.params());
        assert!(far < 1e-5, "{far:e} from one node");
    }
    for (here, there) in nodes[0].log.steps().iter().zip(one.log.steps()) {
        assert!((here.loss - there.loss).abs() <= 1e-5 * there.loss, "{here:?} {there:?}");
    }
    assert_eq!(nodes[2].report.slowest.len(), 6);
}

#[test]
fn whichever_node_moves_which_parameters_the_bits_are_the_same() {
    for order in ["any", "exact"] {
        let of = |zero: u32| {
            let folds = format!("split 2 order={order} @node | split 3 order={order} @cluster");
            topology(&format!("{folds} | step adam(0.02) clip=0.3 zero={zero}"))
                .steps(40)
                .cosine(0.1)
                .checkpoint_every(10)
        };
        let [whole, parted] = [0, 1].map(|zero| across(&of(zero), 3));
        for (a, b) in whole.iter().zip(&parted) {
            assert_eq!(a.bits(), b.bits(), "order={order}");
        }
        assert_eq!(whole[0].log.lines("step"), parted[0].log.lines("step"));
        // A checkpoint has the state of all, whoever has kept it, and each goes on with its own.
        let folder = Folder::new();
        let rigs = |fails: bool| -> Vec<Rig> {
            let rig = |_| {
                let act = move |now: &Moment<'_>| match fails && now.is(5, 27) {
                    true => Act::Fail("out of cheese"),
                    false => {
                        now.patient();
                        Act::Compute
                    }
                };
                Rig::new(&of(1)).backend(Linear::new(FEATURES).acting(act))
            };
            (0..3).map(rig).collect()
        };
        let failed: Vec<_> = folder.nodes(rigs(true), false).into_iter().map(Result::unwrap).collect();
        assert!(failed[2].failed().contains("out of cheese"), "{}", failed[2].failed());
        let on: Vec<_> =
            folder.nodes(rigs(false), true).into_iter().map(|ran| ran.unwrap().finished()).collect();
        assert!(on.iter().all(|ran| ran.first == 20 && ran.bits() == whole[0].bits()), "order={order}");
        assert_eq!(on[0].log.lines("step"), whole[0].log.lines("step"));
    }
}

#[test]
fn a_cluster_of_one_is_a_machine() {
    let of = |folds: &str| topology(&format!("{folds} | step adam(0.02)"));
    let ran = across(&of("split 2 @node | split 1 @cluster"), 1);
    assert_eq!(ran[0].bits(), Rig::new(&of("split 2")).run().finished().bits());
}

#[test]
fn a_node_that_fails_ends_the_run_with_its_cause_everywhere() {
    let topology = topology("split 2 @node | split 2 @cluster | step adam(0.02)").checkpoint_every(10);
    let folder = Folder::new();
    let [a, b] = ended(folder.nodes(
        two(&topology, |now| match now.is(3, 25) {
            true => Act::Fail("out of cheese"),
            false => {
                now.patient();
                Act::Compute
            }
        }),
        false,
    ));
    let want = "worker 3 on b: out of cheese; go on from the last checkpoint with --resume";
    assert_eq!((b.failed(), &b.report.lost), (want, &None));
    assert!(a.failed().starts_with("node b: rank 3 left the group: "), "{}", a.failed());
    assert_eq!(a.report.lost.as_deref(), Some("b"));
    assert_eq!((a.report.step, b.report.step, a.restarts(), folder.kept()), (24, 24, vec![], vec![10, 20]));
    // And on it goes, as if nothing had happened.
    let rigs = vec![Rig::new(&topology), Rig::new(&topology)];
    let [a, b] = ended(folder.nodes(rigs, true)).map(Ran::finished);
    assert_eq!((a.first, b.first, &b.resumed), (20, 20, &None));
    let whole = across(&topology, 2);
    assert_eq!((a.bits(), b.bits()), (whole[0].bits(), whole[0].bits()));
    assert_eq!(a.log.lines("step"), whole[0].log.lines("step"));
    // All is done: a third time there is nothing to do, on either.
    let rigs = vec![Rig::new(&topology), Rig::new(&topology)];
    let [a, b] = ended(folder.nodes(rigs, true)).map(Ran::finished);
    assert_eq!((a.first, b.first, a.report.loss), (60, 60, b.report.loss));
}

#[test]
fn a_panic_on_one_node_is_told_on_the_other() {
    let topology = topology("split 2 @cluster | step sgd(0.1)");
    let act = |now: &Moment<'_>| if now.is(0, 7) { panic!("boom") } else { Act::Compute };
    let [a, b] = ended(Folder::new().nodes(two(&topology, act), false));
    assert!(a.failed().starts_with("worker 0 on a: boom (panicked at "), "{}", a.failed());
    assert!(b.failed().starts_with("node a: rank 0 left the group: it panicked"), "{}", b.failed());
}

#[test]
fn a_node_that_lets_the_others_wait_is_named() {
    let mut topology = topology("split 2 @node | split 2 @cluster | step sgd(0.1)");
    topology.job.stall_timeout_s = 1;
    let act = |now: &Moment<'_>| {
        if now.is(2, 7) {
            dawdle(Duration::from_millis(2500));
        }
        Act::Compute
    };
    let [a, b] = ended(Folder::new().nodes(two(&topology, act), false));
    assert!(a.failed().starts_with("node b: "), "{}", a.failed());
    assert_eq!(a.report.lost.as_deref(), Some("b"));
    assert!(b.failed().contains("ranks [2] did not arrive within 1s; rank 3 waited"), "{}", b.failed());
}

#[test]
fn a_node_that_takes_long_is_told_of_on_the_first_while_it_does() {
    let act = |now: &Moment<'_>| {
        if now.is(2, 40) {
            dawdle(Duration::from_millis(3800));
        }
        Act::Compute
    };
    let topology = topology("split 2 @node | split 2 @cluster | step sgd(0.1)");
    let [a, _] = ended(Folder::new().nodes(two(&topology, act), false)).map(Ran::finished);
    let [stalled] = &a.log.events("stalled")[..] else { panic!("{:?}", a.log.kinds()) };
    let what = stalled["what"].as_str().unwrap();
    for rank in [0, 1] {
        assert!(what.contains(&format!("rank {rank} has been in the exchange with b for ")), "{what}");
    }
    assert_eq!(stalled["step"], 39);
}

#[test]
fn numbers_that_are_none_stop_all_nodes_and_are_named_on_each() {
    for (act, what) in [(Act::Loss(f64::NAN), "loss"), (Act::Gradient(150, f32::INFINITY), "gradient")] {
        for optimizer in ["sgd(0.1)", "adam(0.01) clip=0.1"] {
            let topology = topology(&format!("split 2 @node | split 2 @cluster | step {optimizer}"));
            let act = move |now: &Moment<'_>| if now.is(3, 18) { act } else { Act::Compute };
            for ran in ended(Folder::new().nodes(two(&topology, act), false)) {
                let want = format!("the {what} of worker 3 on b was not a finite number in step 18;");
                assert!(ran.failed().starts_with(&want), "{}", ran.failed());
                assert_eq!((ran.report.step, &ran.report.params, &ran.report.lost), (17, &None, &None));
            }
        }
    }
}

#[test]
fn a_wish_to_stop_on_one_node_stops_all_after_the_same_step() {
    let topology = topology("split 2 @node | split 2 @cluster | step adam(0.02)");
    let handle: Arc<OnceLock<JobHandle>> = Arc::default();
    let stop = handle.clone();
    let act = move |now: &Moment<'_>| {
        if now.is(2, 31) {
            now.stop(&stop);
        }
        Act::Compute
    };
    let mut rigs = two(&topology, act);
    let b = rigs.pop().unwrap().handle_to(&handle);
    rigs.push(b);
    let folder = Folder::new();
    let [a, b] = ended(folder.nodes(rigs, false));
    let why = |ran: &Ran| match &ran.report.how {
        Ended::Stopped(why) => why.clone(),
        how => panic!("{how:?}"),
    };
    assert_eq!((why(&a), why(&b)), ("another node was asked to".into(), "asked to".into()));
    assert_eq!((a.report.step, b.report.step, a.bits() == b.bits()), (31, 31, true));
    assert_eq!(folder.kept(), [31]);
    let rigs = vec![Rig::new(&topology), Rig::new(&topology)];
    let [a, b] = ended(folder.nodes(rigs, true)).map(Ran::finished);
    let whole = across(&topology, 2);
    assert_eq!((a.bits(), b.bits()), (whole[0].bits(), whole[0].bits()));
}

#[test]
fn a_lossy_run_that_is_stopped_or_dies_goes_on_to_the_same_bits() {
    for wire in ["int8", "topk(0.2)", "bf16", "powersgd(2)"] {
        for (nodes, local) in [(2, 2), (3, 1)] {
            let word = format!("split {local} @node | split {nodes} @cluster wire={wire} | step adam(0.02)");
            let topology = topology(&word).checkpoint_every(10);
            let whole = across(&topology, nodes);
            let folder = Folder::new();
            let run = |steps: u64, fails: u64, resume: bool| {
                let model = || {
                    Linear::new(FEATURES).acting(move |now| match now.is(0, fails) {
                        true => Act::Fail("out of cheese"),
                        false => {
                            now.patient();
                            Act::Compute
                        }
                    })
                };
                let rigs = (0..nodes).map(|_| Rig::new(&topology.clone().steps(steps)).backend(model()));
                let ran = folder.nodes(rigs.collect(), resume);
                ran.into_iter().map(Result::unwrap).collect::<Vec<_>>()
            };
            // Once in order, once by a failure, after which a periodic checkpoint is all there is.
            run(25, 0, false);
            let kept = folder.read(25);
            assert!(
                kept.state.iter().skip(2).all(|kept| kept.iter().any(|x| *x != 0.0)),
                "{:?}",
                kept.state_names
            );
            assert_eq!(run(60, 44, true)[0].report.step, 43);
            let ran = run(60, 0, true);
            assert_eq!(ran[0].first, 40, "{word}");
            for node in &ran {
                assert_eq!(node.report.step, 60);
                assert_eq!(node.bits(), whole[0].bits(), "{word}");
            }
            assert_eq!(ran[0].log.lines("step"), whole[0].log.lines("step"));
        }
    }
}

#[test]
fn what_other_nodes_had_kept_back_is_dropped() {
    let topology = topology("split 2 @cluster wire=int8 | step adam(0.02)");
    let folder = Folder::new();
    let rigs = |steps: u64| (0..2).map(|_| Rig::new(&topology.clone().steps(steps))).collect::<Vec<_>>();
    let _ = ended(folder.nodes(rigs(25), false)).map(Ran::finished);
    let Checkpoint { meta, params, state, .. } = folder.read(25);
    // As three nodes leave it.
    let state: Vec<&[f32]> = state.iter().chain(&state[3..]).map(Vec::as_slice).collect();
    let names = ["m", "v", "kept0", "kept1", "kept2"];
    let snapshot = checkpoint::Snapshot { params: &params, state: &state, names: &names };
    checkpoint::write(&folder.checkpoints(), &meta, snapshot, 3).unwrap();
    let [a, b] = ended(folder.nodes(rigs(60), true)).map(Ran::finished);
    assert_eq!((a.first, a.bits()), (25, b.bits()));
    assert_ne!(a.bits(), across(&topology, 2)[0].bits(), "it goes on, and not to the same bits");
}

#[test]
fn nodes_that_differ_are_told_in_what_before_the_first_step() {
    let own = topology("split 2 @cluster | step sgd(0.1)");
    let differ = |other: Rig| {
        let told = |run: Result<Ran, JobError>| match run {
            Err(JobError::NodesDiffer(lines)) => lines,
            other => panic!("{other:?}"),
        };
        let [a, b] = Folder::new().nodes(vec![Rig::new(&own), other], false).try_into().unwrap();
        let (a, b) = (told(a), told(b));
        assert_eq!(a, b);
        a
    };
    let [data] = &differ(Rig::new(&own).dataset(MadeUp::new(49, FEATURES)))[..] else { panic!() };
    assert!(data.starts_with("data: 50 samples of shape [12], hash "), "{data}");
    assert!(data.contains(" on a; 49 samples of shape [12], hash ") && data.ends_with(" on b"), "{data}");
    let [seed] = &differ(Rig::new(&own.clone().seed(12)))[..] else { panic!() };
    assert!(seed.starts_with("topology: hash "), "{seed}");
    let [steps] = &differ(Rig::new(&own.clone().steps(61)))[..] else { panic!() };
    let want = "schedule: `split 2 @cluster | step sgd(0.1)`, 60 steps on a; \
                `split 2 @cluster | step sgd(0.1)`, 61 steps on b";
    assert_eq!(steps, want);
    let mut skips = own.clone();
    skips.job.on_nonfinite = "skip_if_any".into();
    assert_eq!(differ(Rig::new(&skips)), ["job.on_nonfinite: stop on a; skip_if_any on b"]);
    let model = differ(Rig::new(&own).backend(Linear::new(11)));
    assert!(model[0].starts_with("model: 156 parameters, layout "), "{model:?}");
}

#[test]
fn a_first_node_that_cannot_begin_says_so_to_all() {
    let topology = topology("split 2 @cluster | step sgd(0.1)").checkpoint_every(10);
    let folder = Folder::new();
    let rigs = || vec![Rig::new(&topology), Rig::new(&topology)];
    let _ = ended(folder.nodes(rigs(), false)).map(Ran::finished);
    for step in folder.kept() {
        std::fs::write(folder.checkpoint(step).join("model.safetensors"), "").unwrap();
    }
    let told: Vec<_> =
        folder.nodes(rigs(), true).into_iter().map(|run| run.unwrap_err().to_string()).collect();
    let [a, b] = &told[..] else { panic!("{told:?}") };
    assert!(a.contains("checkpoints can be read"), "{a}");
    assert_eq!(*b, format!("before the first step: node a: {a}"));
}

#[test]
fn one_machine_is_no_cluster() {
    let error = Folder::new().run(Rig::new(&topology("split 3 @cluster | step sgd(0.1)"))).unwrap_err();
    assert!(
        error.to_string().contains("is for 3 nodes, and this is one; run it on a cluster (--cluster NAME)")
    );
}
