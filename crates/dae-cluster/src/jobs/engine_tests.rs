//! Tests of the job engine: every way a job goes.

use super::*;
use proptest::prelude::*;

const GRACE: Duration = Duration::from_secs(10);

fn engine(nodes: usize, now: Instant) -> Engine {
    let order = Order {
        nodes: (1..=nodes).map(|i| format!("n{i}")).collect(),
        work: Work::Train("t".into()),
        run_dir: Some("/run".into()),
        resume: false,
        job_key: JobKey([7; 32]),
        grace: GRACE,
    };
    Engine::new(order, now)
}

fn enlist(index: usize, program: &str) -> Input {
    let enlist = Enlist {
        job: "j".into(),
        token: "t".into(),
        pid: 1,
        program_sha256: program.into(),
        identity: [index as u8; 32],
        bulk_addresses: Vec::new(),
    };
    Input::Enlisted(index, Box::new(enlist))
}

fn running(nodes: usize, now: Instant) -> Engine {
    let mut job = engine(nodes, now);
    for index in 0..nodes {
        job.take(enlist(index, "a"), now);
    }
    assert_eq!(job.state(), JobState::Running);
    job
}

fn failed(cause: &str, blames: Option<u32>) -> Outcome {
    Outcome::Failed { cause: cause.into(), code: 1, blames }
}

fn asked(actions: &[Action]) -> Vec<(usize, bool)> {
    let end = |action: &Action| match action {
        Action::End { index, kill, .. } => Some((*index, *kill)),
        Action::Assign(..) => None,
    };
    actions.iter().filter_map(end).collect()
}

fn cause(job: &Engine) -> String {
    match job.state() {
        JobState::Ended(Outcome::Failed { cause, .. }) => cause,
        other => panic!("{other:?}"),
    }
}

fn exit(index: usize) -> Input {
    Input::Exited(index, "ended with exit code 0".into())
}

#[test]
fn all_enlist_then_all_are_assigned_then_done() {
    let now = Instant::now();
    let mut job = engine(2, now);
    assert_eq!(job.take(enlist(1, "a"), now), []);
    let actions = job.take(enlist(0, "a"), now);
    let [Action::Assign(0, first), Action::Assign(1, second)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(
        (first.hosts.len(), first.hosts[1].node.as_str(), first.hosts[1].identity),
        (2, "n2", [1; 32])
    );
    assert_eq!((first.run_dir.is_some(), second.run_dir.is_some()), (true, false), "only index 0 writes");
    for index in 0..2 {
        job.take(Input::Done(index, Outcome::Done), now);
    }
    job.take(exit(0), now);
    assert!(!job.is_over());
    assert_eq!(job.take(exit(1), now), []);
    assert_eq!(job.state(), JobState::Ended(Outcome::Done));
}

#[test]
fn other_programs_are_refused_by_name() {
    let now = Instant::now();
    let mut job = engine(2, now);
    job.take(enlist(0, "aaaa"), now);
    let actions = job.take(enlist(1, "bbbb"), now);
    assert_eq!(asked(&actions), [(0, false), (1, false)]);
    for index in 0..2 {
        job.take(exit(index), now);
    }
    let cause = cause(&job);
    assert!(cause.contains("n1 runs one of SHA-256 aaaa") && cause.contains("n2 one of bbbb"), "{cause}");
}

#[test]
fn the_first_cause_wins_and_the_others_are_stopped_once() {
    let now = Instant::now();
    let mut job = running(3, now);
    let actions = job.take(Input::Done(1, failed("disk full", None)), now);
    assert_eq!(asked(&actions), [(0, false), (2, false)]);
    assert_eq!(job.take(Input::Done(0, failed("n2 was lost", Some(1))), now), []);
    assert_eq!(job.take(Input::Done(2, Outcome::Stopped { why: "told".into() }), now), []);
    for index in 0..3 {
        job.take(exit(index), now);
    }
    assert_eq!(cause(&job), "n2: disk full");
}

#[test]
fn a_host_that_felt_anothers_death_is_not_the_first_cause() {
    let now = Instant::now();
    let mut job = running(2, now);
    job.take(Input::Done(0, failed("the link to n2 ended", Some(1))), now);
    job.take(Input::Exited(1, "was killed by signal 9".into()), now);
    job.take(exit(0), now);
    assert_eq!(cause(&job), "the host on n2 was killed by signal 9, without having said why");
}

#[test]
fn who_ignores_a_stop_is_killed_after_the_grace_and_not_before() {
    let now = Instant::now();
    let mut job = running(2, now);
    let actions = job.take(Input::Stop { why: "stopped by ada".into(), now: false }, now);
    assert_eq!(asked(&actions), [(0, false), (1, false)]);
    job.take(Input::Done(0, Outcome::Stopped { why: "told".into() }), now);
    job.take(exit(0), now);
    assert_eq!(job.take(Input::Tick, now + GRACE - Duration::from_millis(1)), []);
    assert_eq!(asked(&job.take(Input::Tick, now + GRACE)), [(1, true)]);
    assert_eq!(job.take(Input::Tick, now + GRACE), [], "not again at once");
    job.take(Input::Exited(1, "was killed by signal 9".into()), now + GRACE);
    assert_eq!(cause(&job), "stopped by ada; the host on n2 was killed, what it had not saved is lost");
}

#[test]
fn a_stop_in_order_tells_who_wanted_it() {
    let now = Instant::now();
    let mut job = running(2, now);
    job.take(Input::Stop { why: "stopped by ada".into(), now: false }, now);
    for index in 0..2 {
        job.take(Input::Done(index, Outcome::Stopped { why: "told".into() }), now);
        job.take(exit(index), now);
    }
    assert_eq!(job.state(), JobState::Ended(Outcome::Stopped { why: "stopped by ada".into() }));
}

#[test]
fn a_job_stopped_before_it_began_was_stopped_not_lost() {
    let now = Instant::now();
    let mut job = engine(2, now);
    job.take(enlist(0, "a"), now);
    job.take(Input::Stop { why: "stopped by ada".into(), now: false }, now);
    job.take(Input::Done(0, failed("refused", None)), now);
    job.take(exit(0), now);
    job.take(Input::Exited(1, "was killed by signal 15".into()), now);
    assert_eq!(job.state(), JobState::Ended(Outcome::Stopped { why: "stopped by ada".into() }));
}

#[test]
fn one_that_stops_by_itself_stops_all() {
    let now = Instant::now();
    let mut job = running(2, now);
    let actions = job.take(Input::Done(1, Outcome::Stopped { why: "the daemon leaves".into() }), now);
    assert_eq!(asked(&actions), [(0, false)]);
    job.take(exit(1), now);
    job.take(Input::Done(0, Outcome::Stopped { why: "n2: the daemon leaves".into() }), now);
    job.take(exit(0), now);
    assert_eq!(job.state(), JobState::Ended(Outcome::Stopped { why: "n2: the daemon leaves".into() }));
}

#[test]
fn a_second_stop_may_kill_at_once() {
    let now = Instant::now();
    let mut job = running(2, now);
    job.take(Input::Stop { why: "x".into(), now: false }, now);
    let actions = job.take(Input::Stop { why: "x".into(), now: true }, now + AGAIN);
    assert_eq!(asked(&actions), [(0, true), (1, true)]);
}

#[test]
fn a_node_that_does_not_answer_is_given_up() {
    let now = Instant::now();
    let mut job = running(2, now);
    job.take(Input::Stop { why: "x".into(), now: true }, now);
    job.take(exit(0), now);
    assert!(!job.is_over());
    job.take(Input::Tick, now + KILL);
    assert_eq!(cause(&job), "n2 does not answer: whether its host has ended is not known");
}

#[test]
fn a_node_that_leaves_ends_the_job() {
    let now = Instant::now();
    let mut job = running(2, now);
    assert_eq!(job.take(Input::NodeLeft("n9".into(), "x".into()), now), []);
    let actions = job.take(Input::NodeLeft("n2".into(), "connection refused".into()), now);
    assert_eq!(asked(&actions), [(0, false)]);
    job.take(Input::Done(0, failed("the link to n2 ended", Some(1))), now);
    job.take(exit(0), now);
    assert!(cause(&job).starts_with("the host on n2 was lost with its node: connection refused"));
}

#[test]
fn a_host_that_is_never_ready_is_named() {
    let now = Instant::now();
    let mut job = engine(2, now);
    job.take(enlist(0, "a"), now);
    assert_eq!(asked(&job.take(Input::Tick, now + ENLIST)), [(0, false), (1, false)]);
    job.take(exit(0), now + ENLIST);
    job.take(exit(1), now + ENLIST);
    assert_eq!(cause(&job), "the host on n2 was not ready within 60 s of being started");
}

#[test]
fn a_host_that_cannot_be_started_ends_the_others_as_they_enlist() {
    let now = Instant::now();
    let mut job = engine(2, now);
    assert_eq!(asked(&job.take(Input::NotStarted(1, "no such file".into()), now)), [(0, false)]);
    assert_eq!(asked(&job.take(enlist(0, "a"), now)), [(0, false)]);
    job.take(exit(0), now);
    assert_eq!(cause(&job), "n2 could not start its host: no such file");
}

#[test]
fn a_host_that_may_be_there_is_killed_until_its_node_has_heard_it() {
    let now = Instant::now();
    let mut job = running(2, now);
    let lost = Input::Unconfirmed(1, "the link ended".into());
    assert_eq!(asked(&job.take(lost, now)), [(0, false), (1, true)]);
    assert_eq!(job.take(Input::Tick, now + AGAIN / 2), []);
    assert_eq!(asked(&job.take(Input::Tick, now + AGAIN)), [(1, true)]);
    job.take(exit(0), now + AGAIN);
    assert!(!job.is_over() && job.has_unconfirmed());
    assert_eq!(job.take(Input::KillHeard(1), now + AGAIN), []);
    assert_eq!(cause(&job), "n2 did not answer when its host was to begin: the link ended");
    assert!(!job.has_unconfirmed());
    assert_eq!(job.take(Input::Tick, now + 9 * AGAIN), []);
}

#[test]
fn a_host_that_may_be_left_is_killed_after_its_job_is_over() {
    let now = Instant::now();
    for end in [Input::KillHeard(1), Input::NodeLeft("n2".into(), "silence".into())] {
        let mut job = running(2, now);
        job.take(Input::Stop { why: "x".into(), now: true }, now);
        job.take(exit(0), now);
        let later = now + KILL;
        assert_eq!(asked(&job.take(Input::Tick, later)), [(1, true)]);
        assert!(job.is_over() && job.has_unconfirmed());
        assert_eq!(asked(&job.take(Input::Tick, later + AGAIN)), [(1, true)]);
        job.take(end, later + AGAIN);
        assert!(!job.has_unconfirmed());
        assert_eq!(job.take(Input::Tick, later + 9 * AGAIN), []);
    }
}

#[test]
fn hosts_that_are_done_and_stay_are_killed() {
    let now = Instant::now();
    let mut job = running(1, now);
    job.take(Input::Done(0, Outcome::Done), now);
    assert_eq!(asked(&job.take(Input::Tick, now + GRACE)), [(0, true)]);
    job.take(Input::Exited(0, "was killed by signal 9".into()), now + GRACE);
    assert_eq!(job.state(), JobState::Ended(Outcome::Done));
}

#[test]
fn whatever_is_said_the_news_of_a_job_fit_into_a_message() {
    let now = Instant::now();
    let long = || "ä\u{1b}\n".repeat(30_000);
    let inputs = [
        Input::NotStarted(0, long()),
        Input::Unconfirmed(0, long()),
        Input::Done(0, failed(&long(), None)),
        Input::Done(0, Outcome::Stopped { why: long() }),
        Input::Exited(0, long()),
        Input::NodeLeft("n1".into(), long()),
        Input::Stop { why: long(), now: false },
    ];
    for input in inputs {
        let mut job = running(1, now);
        let actions = job.take(input, now);
        let most = actions.iter().map(|action| match action {
            Action::End { why, .. } => why.len(),
            Action::Assign(..) => 0,
        });
        assert!(most.max().unwrap_or(0) < 5_000, "{actions:.99?}");
        job.take(exit(0), now);
        assert!(job.is_over() && format!("{:?}", job.state()).len() < 9_000);
    }
}

fn any_input() -> impl Strategy<Value = Input> {
    let index = 0usize..4;
    prop_oneof![
        (index.clone()).prop_map(|i| Input::NotStarted(i, "x".into())),
        (index.clone()).prop_map(|i| Input::Unconfirmed(i, "x".into())),
        (index.clone()).prop_map(Input::KillHeard),
        (index.clone()).prop_map(|i| enlist(i, "a")),
        (index.clone(), 0usize..3, prop::option::of(0u32..9)).prop_map(|(i, kind, blames)| {
            let outcomes = [Outcome::Done, Outcome::Stopped { why: "s".into() }, failed("f", blames)];
            Input::Done(i, outcomes[kind].clone())
        }),
        index.prop_map(exit),
        Just(Input::NodeLeft("n2".into(), "x".into())),
        any::<bool>().prop_map(|now| Input::Stop { why: "x".into(), now }),
        Just(Input::Tick),
    ]
}

proptest! {
    /// Whatever happens, once a stop was wanted the job is over within the grace and what a kill may take; and while it
    /// is not over, somebody is still there.
    #[test]
    fn every_job_ends(inputs in prop::collection::vec((any_input(), 0u64..3_000), 0..40)) {
        let mut now = Instant::now();
        let mut job = engine(3, now);
        let mut assigned = 0;
        for (input, pause) in inputs {
            now += Duration::from_millis(pause);
            let actions = job.take(input, now);
            assigned += actions.iter().filter(|action| matches!(action, Action::Assign(..))).count();
            prop_assert_eq!(job.is_over(), job.seats.iter().all(|seat| seat.gone));
        }
        prop_assert!(assigned == 0 || assigned == 3, "all begin or none: {assigned}");
        job.take(Input::Stop { why: "x".into(), now: false }, now);
        job.take(Input::Tick, now + GRACE);
        job.take(Input::Tick, now + GRACE + KILL);
        prop_assert!(job.is_over());
        for index in 0..3 {
            job.take(Input::KillHeard(index), now + GRACE + KILL);
        }
        prop_assert!(!job.has_unconfirmed());
    }
}
