//! Random words of all that runs on one node come to the bits of the oracle.
//!
//! A word that waits for all is a function of its data: the oracle is given nothing but the topology. One that goes by
//! who is first leaves in its log what was taken up in which order; the oracle repeats that, and what remains has to
//! agree to the bit, the log included: who was late, what was dropped, which update fired when.

use crate::interpreted::{interpreted, pushes};
use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Folder, Ran, Rig, plan, topology};
use dae_schedule::oracle::Push;
use dae_schedule::testing::word_that_runs;
use dae_schedule::{GItem, Join, MItem, Order, Word};
use dae_train::data::uniform;
use dae_train::job::JobHandle;
use dae_train::topology::Topology;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A word, and what it runs on.
#[derive(Clone)]
struct Case {
    word: Word,
    batch: u32,
    rounds: u64,
    /// Epochs instead, so that data end in the middle of a round.
    epochs: Option<f64>,
    noise: usize,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let length = (1..6_u64, prop::option::of(0.3..1.5));
    (word_that_runs(), 1..4_u32, length, 0..4_usize, 0..1_u64 << 32).prop_map(
        |(word, batch, (rounds, epochs), noise, seed)| Case { word, batch, rounds, epochs, noise, seed },
    )
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { word, batch, rounds, epochs, noise, seed } = self;
        write!(f, "`{word}` batch {batch}, {rounds} rounds, epochs {epochs:?}, noise {noise}, seed {seed}")
    }
}

impl Case {
    fn topology(&self) -> Topology {
        let free = !self.waits();
        let steps = u64::from(self.word.period()) * if free { 3 * self.rounds } else { self.rounds };
        let mut topology = topology(&self.word.to_string()).batch(self.batch).seed(self.seed).steps(steps);
        if let Some(epochs) = self.epochs {
            topology = topology.epochs(epochs);
        }
        let corruption = &mut topology.data.corruption;
        corruption.kind = ["none", "masking", "salt_and_pepper", "gaussian"][self.noise].into();
        corruption.level = if self.noise > 0 { 0.2 } else { 0.0 };
        topology
    }

    /// Whether all wait for all.
    fn waits(&self) -> bool {
        self.word.model().iter().all(|item| match item {
            MItem::Join(join) => join.terms().k == join.n,
            MItem::Gossip(gossip) => !gossip.asynchronous || gossip.n == 1,
            MItem::Every(_) => true,
        })
    }

    fn join(&self) -> Option<&Join> {
        self.word.model().iter().find_map(|item| if let MItem::Join(join) = item { Some(join) } else { None })
    }

    fn exact(&self) -> bool {
        let exact = |item: &GItem| matches!(item, GItem::Split(split) if split.order == Order::Exact);
        self.word.gradient().iter().any(exact)
    }
}

/// A model whose replicas take some time for each step, or none, by chance: so that who is first changes.
fn uneven(seed: u64) -> Linear {
    Linear::new(FEATURES).acting(move |moment| {
        let mut chance = [0.0];
        uniform(seed, moment.step << 8 | moment.member.rank() as u64, 1.0, &mut chance);
        let (begun, lasts) = (Instant::now(), Duration::from_micros((chance[0].max(0.0) * 200.0) as u64));
        while begun.elapsed() < lasts {
            std::thread::yield_now();
        }
        Act::Compute
    })
}

/// What was seen of all words.
#[derive(Debug, Default)]
struct Seen {
    waiting: usize,
    gossips: usize,
    exact: usize,
    coded: usize,
    streams: usize,
    mixes: usize,
    free: usize,
    pushes: usize,
    stale: usize,
    dropped: usize,
}

/// Holds what a run came to against the oracle.
fn holds(case: &Case, topology: &Topology, ran: &Ran, seen: &mut Seen) {
    seen.gossips += usize::from(case.word.model().iter().any(|item| matches!(item, MItem::Gossip(_))));
    let has = |is: fn(&Join) -> bool| usize::from(case.join().is_some_and(is));
    seen.coded += has(|join| join.wire.loses());
    seen.streams += has(Join::streams);
    seen.mixes += has(|join| join.mix != 0.0);
    if case.waits() {
        (seen.waiting, seen.exact) = (seen.waiting + 1, seen.exact + usize::from(case.exact()));
        let truth = interpreted(topology, None);
        assert!(ran.bits() == truth.bits(), "{case:?}");
        let steps = ran.log.steps();
        assert_eq!(steps.last().unwrap().samples, truth.rounds.last().unwrap().samples, "{case:?}");
        assert_eq!(steps.len(), truth.rounds.len(), "{case:?}");
        for (step, round) in steps.iter().zip(&truth.rounds) {
            let off = (step.loss - round.loss).abs();
            assert!(off <= 1e-9 * round.loss, "{case:?}: {step:?} {}", round.loss);
        }
        return;
    }
    let script = pushes(&ran.log.events("push"));
    let truth = interpreted(topology, Some(&script));
    let timeless = |push: &Push| Push { time: 0.0, ..*push };
    assert_eq!(truth.log.iter().map(timeless).collect::<Vec<_>>(), script, "{case:?}");
    assert!(ran.bits() == truth.bits(), "{case:?}");
    seen.free += 1;
    seen.pushes += script.len();
    seen.stale += script.iter().filter(|push| push.staleness().is_some_and(|late| late > 0)).count();
    seen.dropped += script.iter().filter(|push| push.applied.is_none()).count();
}

fn hold(count: u32, law: impl Fn(Case)) {
    let config =
        Config { cases: count, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let law = |case| {
        law(case);
        Ok(())
    };
    TestRunner::new_with_rng(config, chance).run(&cases(), law).unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn every_word_comes_to_the_bits_of_the_oracle() {
    let seen = RefCell::new(Seen::default());
    hold(300, |case| {
        let topology = case.topology();
        let ran = Rig::new(&topology).backend(uneven(case.seed)).run().finished();
        holds(&case, &topology, &ran, &mut seen.borrow_mut());
    });
    let seen = seen.into_inner();
    println!("{seen:?}");
    assert!(seen.waiting + seen.free >= 200, "{seen:?}");
    assert!(seen.gossips > 30, "{seen:?}");
    assert!(seen.coded > 25 && seen.streams > 5 && seen.mixes > 20, "{seen:?}");
    assert!(seen.exact > 40 && seen.free > 30 && seen.stale > 100 && seen.dropped > 5, "{seen:?}");
}

/// Who waits for nobody goes on with what is left in the log as in the checkpoint.
#[test]
fn a_log_that_was_gone_on_with_is_the_log_of_the_whole() {
    for around in [
        "join 3 sync=async outer=nesterov(0.5,0.5)",
        "join 3 sync=ssp(1) wire=int8 outer=nesterov(0.5,0.5)",
        "join 3 sync=quorum(2,keep) outer=nesterov(0.5,0.5)",
        "join 3 sync=quorum(2,drop) wire=topk(0.3) outer=nesterov(0.5,0.5)",
        "gossip 3 sync=async",
        "gossip 3 graph=exp push sync=async",
    ] {
        let word = format!("split 2 | step adam(0.01) | every 2 | {around}");
        let topology = topology(&word).steps(60).checkpoint_every(4);
        let case = Case {
            word: plan(&topology).word().clone(),
            batch: 4,
            rounds: 30,
            epochs: None,
            noise: 0,
            seed: 3,
        };
        let (folder, handle) = (Folder::new(), Arc::new(OnceLock::<JobHandle>::new()));
        let asked = handle.clone();
        let stops = Linear::new(FEATURES).acting(move |moment| {
            if moment.is(0, 21) {
                asked.get().unwrap().stop("enough");
            }
            Act::Compute
        });
        folder.run(Rig::new(&topology).backend(stops).handle_to(&handle)).unwrap();
        // It dies, and goes on from before: what it did since is gone from the log, too.
        let dies = Linear::new(FEATURES)
            .acting(|moment| if moment.is(2, 51) { Act::Fail("out of cheese") } else { Act::Compute });
        folder.resume(Rig::new(&topology).backend(dies)).unwrap().failed();
        let ran = folder.resume(Rig::new(&topology).backend(uneven(6))).unwrap().finished();
        holds(&case, &topology, &ran, &mut Seen::default());
    }
}
