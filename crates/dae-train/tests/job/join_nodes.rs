//! Joins with a child on each of several nodes, each a thread with actors and memory of its own, on sealed links in memory:
//! the numbers of one node, one end for all, nodes that are lost.

use crate::endurance::dawdle;
use crate::linear::{Act, Linear, Moment};
use crate::rig::{FEATURES, Folder, Ran, Rig, plan, topology};
use dae_actor::Peer;
use dae_schedule::cost::{Facts, Figures, cost};
use dae_train::actors::{Committed, Ended};
use dae_train::backend::Backend;
use dae_train::job::{JobError, JobHandle};
use dae_train::topology::Topology;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A topology of this schedule with its children on nodes of their own, and the same on one node.
fn both(word: &str) -> (Topology, Topology) {
    let of = |place: &str| topology(&word.replace(" @", place)).masking(0.1);
    (of(" @cluster"), of(""))
}

fn rigs(topology: &Topology) -> Vec<Rig> {
    (0..plan(topology).nodes()).map(|_| Rig::new(topology)).collect()
}

/// Rigs of nodes whose model does this.
fn acting(topology: &Topology, act: impl Fn(&Moment<'_>) -> Act + Send + Sync + 'static) -> Vec<Rig> {
    let act = Arc::new(act);
    let with = |rig: Rig| {
        let act = act.clone();
        rig.backend(Linear::new(FEATURES).acting(move |now| act(now)))
    };
    rigs(topology).into_iter().map(with).collect()
}

fn ran(runs: Vec<Result<Ran, JobError>>) -> Vec<Ran> {
    runs.into_iter().map(Result::unwrap).collect()
}

fn finished(runs: Vec<Result<Ran, JobError>>) -> Vec<Ran> {
    ran(runs).into_iter().map(Ran::finished).collect()
}

#[test]
fn words_that_wait_for_all_are_those_of_one_node_to_the_bit() {
    for word in [
        "step raw | join 2 @ outer=adam(1e-2) shards=2",
        "split 2 | step adamw(1e-2) | every 5 | join 2 @ outer=nesterov(0.7,0.9)",
        "step sgd(0.1, momentum=0.9) | every 4 | join 3 @ outer=elastic(0.3) shards=3",
        "split 2 order=exact | step adam(0.01) | every 3 | join 2 @ weight=equal",
        "split 2 | step adamw(1e-2) | every 4 | join 3 @ outer=nesterov(0.7,0.5) wire=int8 shards=2",
        "step raw | join 2 @ outer=adam(1e-2) wire=topk(0.1)",
        "split 2 | step adamw(1e-2) | every 6 | join 3 @ outer=nesterov(0.5,0.5) frag=3 delay=1 mix=0.5 wire=int8",
    ] {
        let (apart, together) = both(word);
        // Ends in the middle of a step, and mostly of a round.
        let (apart, together) = (apart.epochs(7.3).cosine(0.1), together.epochs(7.3).cosine(0.1));
        let one = Rig::new(&together).run().finished();
        let folder = Folder::new();
        let nodes = finished(folder.nodes(rigs(&apart), false));
        assert_eq!(nodes[0].bits(), one.bits(), "{word}");
        assert_eq!(nodes[0].log.lines("step"), one.log.lines("step"), "{word}");
        for node in &nodes {
            assert_eq!((node.report.step, node.report.loss), (one.report.step, one.report.loss), "{word}");
        }
        // The first node alone writes it down, moments of all children with it.
        let last = folder.read(one.report.step);
        assert_eq!(last.state_names, plan(&together).buffers(), "{word}");
        assert!(
            nodes[1..].iter().all(|node| node.report.checkpoint.is_none() && node.report.params.is_none())
        );
    }
}

#[test]
fn who_waits_for_nobody_learns_too_and_every_push_counts_once() {
    for word in [
        "step raw | join 3 @ sync=async outer=sgd(0.1) stale=lr/tau shards=2",
        "split 2 | step adam(0.02) | every 5 | join 3 @ sync=async outer=nesterov(0.2,0.3)",
        "step sgd(0.2) | every 5 | join 3 @ sync=quorum(2,keep)",
        "step sgd(0.2) | every 5 | join 3 @ sync=quorum(2,drop) wire=bf16",
        "step sgd(0.2) | every 5 | join 3 @ sync=ssp(1) stale=drop(4)",
    ] {
        let (apart, _) = both(word);
        let apart = apart.steps(200);
        let nodes = finished(Folder::new().nodes(rigs(&apart), false));
        let losses: Vec<_> = nodes[0].log.steps().iter().map(|s| s.loss).collect();
        let last = losses[losses.len() - 5..].iter().sum::<f64>() / 5.0;
        assert!(last < losses[0] / 4.0, "{word}: {} to {last}", losses[0]);
        let tally = nodes[0].report.tally.as_ref().unwrap();
        let counted =
            |child: &dae_train::centre::ChildTally| child.staleness.values().sum::<u64>() + child.dropped;
        let counted: u64 = tally.children.iter().map(counted).sum();
        assert_eq!(counted, 3 * 200 / plan(&apart).period(), "{word}");
        assert_eq!(nodes[2].report.tally, None, "the books are with the first node");
    }
}

#[test]
fn a_child_that_fails_ends_the_run_with_its_cause_on_all_nodes() {
    for sync in ["bsp", "async"] {
        let (apart, _) = both(&format!("split 2 | step sgd(0.1) | every 4 | join 3 @ sync={sync} shards=2"));
        let fails = |now: &Moment<'_>| if now.is(3, 6) { Act::Fail("out of cheese") } else { Act::Compute };
        for node in ran(Folder::new().nodes(acting(&apart.steps(2000), fails), false)) {
            let want = "worker 3 on b: out of cheese; go on from the last checkpoint with --resume";
            assert_eq!((node.failed(), &node.report.lost, node.stuck.len()), (want, &None, 0), "{sync}");
            assert_eq!(node.report.checkpoint, None);
        }
    }
}

#[test]
fn stopping_and_going_on_changes_no_bit_of_a_word_that_waits() {
    for word in [
        "split 2 | step adam(0.01) | every 3 | join 2 @ outer=nesterov(0.7,0.9) shards=2",
        "step sgd(0.1, momentum=0.9) | every 4 | join 3 @ outer=elastic(0.3)",
        "step raw | every 2 | join 2 @ outer=adam(0.01)",
        "step adam(0.01) | every 3 | join 3 @ outer=nesterov(0.7,0.5) wire=topk(0.1) shards=2",
        "step raw | every 2 | join 2 @ outer=adam(0.01) wire=f16",
        "step adam(0.01) | every 4 | join 2 @ outer=nesterov(0.5,0.5) frag=2 delay=1 mix=0.5 wire=int8",
    ] {
        let (apart, together) = both(word);
        let (apart, together) = (apart.steps(120), together.steps(120));
        let whole = Rig::new(&together).run().finished();
        let (folder, handle) = (Folder::new(), Arc::new(OnceLock::<JobHandle>::new()));
        let asked = handle.clone();
        let mut all = acting(&apart, move |now| {
            if now.is(0, 13) {
                asked.get().unwrap().stop("enough");
            }
            Act::Compute
        });
        // Whoever is asked: here a node without the centre.
        let last = all.pop().unwrap().handle_to(&handle);
        all.push(last);
        let stopped = ran(folder.nodes(all, false));
        for node in &stopped {
            assert!(matches!(&node.report.how, Ended::Stopped(why) if why == "enough"), "{:?}", node.report);
            assert_eq!(node.report.step, stopped[0].report.step);
        }
        assert!(stopped[0].report.checkpoint.is_some() && stopped[0].report.step < whole.report.step);
        let resumed = finished(folder.nodes(rigs(&apart), true));
        assert!(resumed.iter().all(|node| node.first == stopped[0].report.step));
        assert_eq!(resumed[0].bits(), whole.bits(), "{word}");
        assert_eq!(resumed[0].log.lines("step"), whole.log.lines("step"), "{word}");
    }
}

#[test]
fn a_run_that_is_through_can_be_made_longer() {
    let of = |epochs| both("step adam(0.01) | join 3 @ sync=async outer=nesterov(0.5,0.5)").0.epochs(epochs);
    let folder = Folder::new();
    let first = finished(folder.nodes(rigs(&of(0.5)), false));
    let again = finished(folder.nodes(rigs(&of(0.5)), true));
    assert_eq!(again[0].report.step, first[0].report.step, "there was nothing left to do");
    let longer = finished(folder.nodes(rigs(&of(2.0)), true));
    assert!(longer[0].report.step > first[0].report.step + 3, "{:?}", longer[0].report);
}

#[test]
fn a_node_that_is_lost_is_named_and_what_was_saved_goes_on_to_the_same_bits() {
    let word = "split 2 | step adam(0.01) | every 2 | join 2 @ outer=nesterov(0.7,0.9) shards=3";
    let (apart, together) = both(word);
    let (apart, together) = (apart.steps(16).checkpoint_every(3), together.steps(16).checkpoint_every(3));
    let whole = Rig::new(&together).run().finished();
    let (folder, peers) = (Folder::new(), Arc::new(OnceLock::<Vec<Peer>>::new()));
    let link = peers.clone();
    let mut all = acting(&apart, move |now| {
        now.patient();
        if now.is(2, 15) {
            link.get().unwrap()[0].close("the cable was pulled");
        }
        Act::Compute
    });
    let b = all.pop().unwrap().peers_to(&peers);
    all.push(b);
    let [a, b] = &ran(folder.nodes(all, false))[..] else { panic!() };
    assert!(a.failed().starts_with("node b: child 1@b cannot be reached: "), "{}", a.failed());
    assert!(a.failed().contains("the cable was pulled") && a.failed().contains("--resume"), "{}", a.failed());
    assert_eq!((a.report.lost.as_deref(), b.report.lost.as_deref()), (Some("b"), Some("a")));
    assert!(b.failed().starts_with("node a, which has the centre of the join: "), "{}", b.failed());
    // The moments of the child that was there came to the first node while it ran.
    assert_eq!(folder.kept(), [3, 6]);
    let resumed = finished(folder.nodes(rigs(&apart), true));
    assert_eq!((resumed[1].first, resumed[0].bits()), (6, whole.bits()));
}

#[test]
fn a_node_that_stands_still_is_named() {
    for frozen in [0, 1] {
        let (mut apart, _) = both("step sgd(0.1) | every 2 | join 2 @ sync=async");
        apart = apart.steps(1_000_000);
        apart.job.stall_timeout_s = 1;
        let steps: Arc<AtomicU64> = Arc::default();
        let done = steps.clone();
        let mut all = acting(&apart, move |_| {
            dawdle(Duration::from_millis(1));
            done.fetch_add(1, Ordering::Relaxed);
            Act::Compute
        });
        // The thread that everything from the other node comes in on.
        let still = all.remove(frozen).join(move |_, _| {
            let steps = steps.clone();
            tokio::task::spawn_local(async move {
                while steps.load(Ordering::Relaxed) < 300 {
                    tokio::task::yield_now().await;
                }
                dawdle(Duration::from_secs(6));
            });
            Ok(vec![])
        });
        all.insert(frozen, still);
        let nodes = ran(Folder::new().nodes(all, false));
        let other = &nodes[1 - frozen];
        assert!(other.failed().contains("did not answer within 1s"), "{}", other.failed());
        assert_eq!(other.report.lost.as_deref(), Some(["a", "b"][frozen]));
        assert!(matches!(nodes[frozen].report.how, Ended::Failed(_)), "{:?}", nodes[frozen].report);
    }
}

#[test]
fn the_bytes_between_nodes_are_those_that_were_predicted() {
    let params = Linear::new(FEATURES).layout().len();
    let (every, rounds) = (2, 6);
    let sent = |wire: &str, shards: u32, sync: &str| {
        let word = format!(
            "step raw | every {every} | join 3 @cluster outer=sgd(0.1) wire={wire} shards={shards} {sync}"
        );
        let word = topology(&word).steps(every * rounds);
        let ends: [Arc<OnceLock<Vec<Peer>>>; 3] = Default::default();
        let rigs = rigs(&word).into_iter().zip(&ends).map(|(rig, end)| rig.peers_to(end));
        finished(Folder::new().nodes(rigs.collect(), false));
        let measured: u64 = ends.iter().flat_map(|end| end.get().unwrap()).map(Peer::bulk_bytes).sum();
        let facts = Facts::of_params(params as u64, 4);
        let cost = cost(plan(&word).word(), &facts, &Figures::default()).unwrap();
        let [cluster] = &cost.traffic[..] else { panic!("{:?}", cost.traffic) };
        assert_eq!(cluster.link, "cluster");
        // At its end each child on another node shows what its wire has kept back.
        let kept = if wire == "f32" { 0 } else { 2 * 4 * params as u64 };
        let predicted = cluster.sent_bytes * (every * rounds) as f64;
        assert!(
            (predicted - (measured - kept) as f64).abs() < 1e-6,
            "{wire} {shards}: {predicted} {measured}"
        );
        measured - kept
    };
    let plain = sent("f32", 1, "");
    assert_eq!(plain, 2 * 2 * rounds * 4 * params as u64);
    for (wire, most) in [("bf16", 0.5), ("f16", 0.5), ("int8", 0.28), ("topk(0.1)", 0.21)] {
        for (shards, sync) in [(1, ""), (3, ""), (1, "sync=async"), (3, "sync=ssp(1)")] {
            // What is pulled is whole.
            let pushed = (sent(wire, shards, sync) - plain / 2) as f64;
            assert!(pushed <= most * (plain / 2) as f64, "{wire} {shards} {sync}: {pushed}");
        }
    }
}

#[test]
fn who_listens_on_another_node_hears_of_every_step_in_order() {
    let (apart, _) = both("step sgd(0.1) | every 2 | join 2 @");
    let told: Arc<Mutex<Vec<u64>>> = Arc::default();
    let heard = told.clone();
    let mut all = acting(&apart.steps(400), |_| Act::Compute);
    let b = all.pop().unwrap().listening(move |_| {
        Box::new(move |committed: &Committed| {
            heard.lock().unwrap().extend(committed.steps.iter().map(|step| step.step));
            true
        })
    });
    all.push(b);
    let nodes = finished(Folder::new().nodes(all, false));
    assert_eq!(nodes[1].report.step, 200);
    assert_eq!(*told.lock().unwrap(), (1..=200).collect::<Vec<_>>());
}

#[test]
fn nodes_that_differ_are_told_in_what_before_the_first_step() {
    let (apart, _) = both("step sgd(0.1) | every 2 | join 2 @");
    let other = Rig::new(&apart.clone().seed(12));
    for node in Folder::new().nodes(vec![Rig::new(&apart), other], false) {
        let Err(JobError::NodesDiffer(lines)) = node else { panic!("{node:?}") };
        assert!(lines[0].starts_with("topology: hash "), "{lines:?}");
    }
    let error = Folder::new().run(Rig::new(&apart)).unwrap_err().to_string();
    assert!(error.contains("is for 2 nodes, and this is one; run it on a cluster"), "{error}");
}
