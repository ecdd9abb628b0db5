//! Who is told of committed steps: everything, in order, and never at training's cost.

use crate::linear::{Act, Linear, Moment};
use crate::rig::{FEATURES, Folder, HANGS, Rig, topology, until};
use dae_actor::{Actor, Context, Handler, Spawn};
use dae_train::actors::{Committed, Ended, StepRecord};
use dae_train::job::{JobError, JobHandle};
use dae_train::topology::Topology;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn adam() -> Topology {
    topology("split 2 | step adam(0.02)")
}

/// A model that does this, and in which each step takes at least 4 ms: committed steps are told in several lots.
fn unhurried(also: impl Fn(&Moment<'_>) + Send + Sync + 'static) -> Linear {
    let last = Mutex::new(Instant::now());
    Linear::new(FEATURES).acting(move |now| {
        if now.member.rank() == 0 {
            let mut last = last.lock().unwrap();
            assert!(until(|| last.elapsed() >= Duration::from_millis(4)));
            *last = Instant::now();
        }
        also(now);
        Act::Compute
    })
}

#[test]
fn every_committed_step_is_told_in_order() {
    let told: Arc<Mutex<Vec<StepRecord>>> = Arc::default();
    let (slowest, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (heard, sum, once) = (told.clone(), slowest.clone(), asked.clone());
    // Long enough for several lots, with a worker that fails in between.
    let fails = AtomicBool::new(true);
    let model = unhurried(move |now| assert!(!now.is(1, 33) || !fails.swap(false, Ordering::SeqCst), "boom"));
    let rig = Rig::new(&adam()).backend(model).join(move |_, _| {
        Ok(vec![
            Box::new(move |committed: &Committed| {
                heard.lock().unwrap().extend(&committed.steps);
                sum.fetch_add(committed.slowest.iter().sum::<u64>(), Ordering::SeqCst);
                true
            }),
            // One that has had enough is not asked again.
            Box::new(move |_| {
                once.fetch_add(1, Ordering::SeqCst);
                false
            }),
        ])
    });
    let ran = rig.run().finished();
    assert_eq!(ran.report.restarts, 1);
    let told: Vec<_> = told.lock().unwrap().iter().map(|r| (r.step, r.loss, r.samples, r.lr)).collect();
    let logged: Vec<_> = ran.log.steps().iter().map(|s| (s.step, s.loss, s.samples, s.lr as f32)).collect();
    assert_eq!(told, logged);
    assert_eq!(told.len(), 60);
    assert_eq!(slowest.load(Ordering::SeqCst), 60, "one rank is the slowest in each step");
    assert_eq!(ran.report.slowest.iter().sum::<u64>(), 60);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn a_slow_listener_delays_no_step_and_gathers_no_backlog() {
    let (open, gate) = sync_channel(1);
    let gate = Mutex::new(gate);
    // The listener sits on the first lot until training has reached its last step: if steps waited for it, neither
    // would ever move.
    let model = unhurried(move |now| {
        if now.is(0, 120) {
            open.send(()).unwrap();
        }
    });
    let lots: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (heard, freed) = (lots.clone(), Arc::new(AtomicBool::new(false)));
    let in_time = freed.clone();
    let rig = Rig::new(&adam().steps(120)).backend(model).listening(|_| {
        let mut first = true;
        Box::new(move |committed| {
            heard.lock().unwrap().push(committed.steps.len());
            if std::mem::take(&mut first) {
                in_time.store(gate.lock().unwrap().recv_timeout(HANGS / 2).is_ok(), Ordering::SeqCst);
            }
            true
        })
    });
    let ran = rig.run().finished();
    assert!(freed.load(Ordering::SeqCst), "training waited for the listener");
    assert_eq!(ran.log.steps().len(), 120);
    let lots = lots.lock().unwrap().clone();
    assert_eq!(lots.iter().sum::<usize>(), 120);
    // What it missed comes in one piece, or a slow listener would keep the run from ending for as long as it ran.
    assert!(lots.len() <= 3, "{lots:?}");
}

#[test]
fn a_listener_that_panics_is_left_out_and_nothing_is_lost() {
    let whole = Rig::new(&adam()).run().finished();
    let heard = Arc::new(AtomicU64::new(0));
    let other = heard.clone();
    let folder = Folder::new();
    let rig = Rig::new(&adam()).join(move |_, _| {
        Ok(vec![
            Box::new(|_| panic!("a listener's own fault")),
            Box::new(move |committed: &Committed| {
                other.fetch_add(committed.steps.len() as u64, Ordering::SeqCst);
                true
            }),
        ])
    });
    let ran = folder.run(rig).unwrap().finished();
    assert_eq!(ran.bits(), whole.bits());
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
    assert_eq!(folder.kept(), [60]);
    assert_eq!(heard.load(Ordering::SeqCst), 60);
}

/// Something a listener holds that is not to be let go of.
struct Clingy;

impl Drop for Clingy {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "it clings to its listener");
    }
}

#[test]
fn a_log_that_is_gone_does_not_cost_the_state() {
    // A listener that has had enough takes the recorder down with it.
    let folder = Folder::new();
    let rig = Rig::new(&adam()).listening(|_| {
        let clingy = Clingy;
        Box::new(move |_| {
            let _ = &clingy;
            false
        })
    });
    let error = folder.run(rig).unwrap_err();
    assert!(error.to_string().contains("recorder") && error.to_string().contains("it clings"), "{error}");
    let saved: Vec<_> = folder.read(60).params.iter().map(|p| p.to_bits()).collect();
    assert_eq!(saved, Rig::new(&adam()).run().finished().bits());
}

#[test]
fn an_actor_that_cannot_be_started_is_an_error_and_no_step_is_made() {
    let folder = Folder::new();
    let rig = Rig::new(&adam()).join(|_, _| Err("no such thing as a judge".into()));
    let error = folder.run(rig).unwrap_err();
    assert!(matches!(&error, JobError::UserActor(_)));
    assert_eq!(error.to_string(), "an actor cannot be started: no such thing as a judge");
    assert_eq!(crate::log::Log::read(&folder.events()).steps(), []);
}

/// A user's own actor, which ends the run when it likes what it sees.
struct Judge {
    handle: JobHandle,
    steps: u64,
}

impl Actor for Judge {
    const KIND: &'static str = "judge";
}

impl Handler<Committed> for Judge {
    fn handle(&mut self, committed: Committed, _: &mut Context<'_, Self>) {
        self.steps += committed.steps.len() as u64;
        if self.steps >= 10 {
            self.handle.stop("the judge has seen enough");
        }
    }
}

#[test]
fn a_users_actor_hears_of_steps_and_can_stop_the_run() {
    let rig = Rig::new(&adam().steps(1_000_000)).join(|system, handle| {
        let judge = system.start(Spawn::named("judge"), move || Judge { handle: handle.clone(), steps: 0 });
        Ok(vec![Box::new(move |committed: &Committed| judge.tell(committed.clone()).is_ok())])
    });
    let ran = rig.run();
    assert!(
        matches!(&ran.report.how, Ended::Stopped(why) if why == "the judge has seen enough"),
        "{:?}",
        ran.report.how
    );
    assert_eq!(ran.log.steps().len() as u64, ran.report.step);
    assert!((10..1_000_000).contains(&ran.report.step));
}
