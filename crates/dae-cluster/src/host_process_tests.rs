//! Tests of host processes, with shells in the place of hosts.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

struct Run {
    process: HostProcess,
    watched: std::pin::Pin<Box<dyn Future<Output = String>>>,
    outbox: Rc<Outbox>,
    _folder: tempfile::TempDir,
}

/// What starts this shell script, and the folder it lies in.
fn start(script: &str) -> (StartHost, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("host");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("set");
    let start = StartHost {
        job: "j-1".into(),
        home: "n1".into(),
        index: 0,
        token: "secret".into(),
        program,
        cwd: folder.path().into(),
        threads: 1,
    };
    (start, folder)
}

async fn run(script: &str) -> Run {
    let (start, folder) = start(script);
    let outbox = Rc::<Outbox>::default();
    let (process, starting) = HostProcess::start(&start, Path::new("/s.sock"), &bulk(), outbox.clone());
    let watched = starting.await.expect("it runs");
    assert_eq!(watched.id(), process.id());
    Run { process, watched: Box::pin(watched.run()), outbox, _folder: folder }
}

fn bulk() -> BulkPlace {
    "0.0.0.0,10.0.0.1,10.1.0.1".parse().expect("addresses")
}

fn alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[tokio::test(flavor = "current_thread")]
async fn a_host_gets_its_arguments_and_is_heard() {
    let run = run("echo \"$@\"; echo $DAE_JOB_TOKEN $DAE_BULK_ADDRESS >&2; printf 'no end'; exit 3").await;
    assert_eq!(run.watched.await, "ended with exit code 3");
    assert!(!run.process.runs());
    let mut lines = run.outbox.take(1).lines;
    lines.sort();
    assert_eq!(lines, ["no end", "secret 0.0.0.0,10.0.0.1,10.1.0.1", "serve --socket /s.sock --job j-1"]);
}

#[tokio::test(flavor = "current_thread")]
async fn a_kill_takes_all_that_it_started() {
    let run = run("trap '' TERM; sleep 600 & echo $!; wait").await;
    let Run { process, mut watched, outbox, .. } = run;
    let child = tokio::select! {
        how = &mut watched => panic!("{how}"),
        () = outbox.filled() => outbox.take(1).lines[0].parse::<i32>().expect("a number"),
    };
    assert!(alive(child) && alive(process.id() as i32));
    process.kill();
    let began = Instant::now();
    assert!(watched.await.starts_with("was killed by signal 9"));
    assert!(began.elapsed() < LAST_LINES, "the pipe was held: a child was left");
    assert!(!alive(process.id() as i32), "it was not reaped");
    process.kill();
}

#[tokio::test(flavor = "current_thread")]
async fn who_goes_takes_its_children_along() {
    let run = run("sleep 600 & echo $!").await;
    let outbox = run.outbox.clone();
    assert_eq!(run.watched.await, "ended with exit code 0");
    let child: i32 = outbox.take(1).lines[0].parse().expect("a number");
    // It closes its files before it is gone.
    let until = Instant::now() + Duration::from_secs(5);
    let gone = || {
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z")
    };
    while !gone() {
        assert!(Instant::now() < until, "{child} is left");
        tokio::time::sleep_until((Instant::now() + Duration::from_millis(5)).into()).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_host_that_shouts_costs_a_bounded_memory() {
    let run = run(
        "head -c 30000000 /dev/zero | tr '\\0' 'x'; i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done",
    )
    .await;
    assert_eq!(run.watched.await, "ended with exit code 0");
    let news = run.outbox.take(1);
    assert!(news.dropped > 3_000, "{}", news.dropped);
    let bytes: usize = news.lines.iter().map(String::len).sum();
    assert!(bytes <= 64 << 10, "{bytes}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_program_that_is_not_there_is_told() {
    let (start, _folder) = start("");
    let start = StartHost { program: "/no/such/host".into(), ..start };
    let begin = async |start: &StartHost| {
        let (_process, starting) = HostProcess::start(start, Path::new("/s"), &bulk(), Rc::default());
        starting.await.err().expect("refused").to_string()
    };
    assert!(begin(&start).await.starts_with("cannot run /no/such/host: No such file or directory"));
    let relative = StartHost { program: "host".into(), ..start };
    assert_eq!(begin(&relative).await, "the host program host is not an absolute path");
}

#[tokio::test(flavor = "current_thread")]
async fn one_that_is_killed_before_it_runs_is_ended_as_it_does() {
    let (start, _folder) = start("sleep 600");
    let start = StartHost { cwd: "/no/such/folder".into(), ..start };
    let outbox = Rc::<Outbox>::default();
    let (process, starting) = HostProcess::start(&start, Path::new("/s"), &bulk(), outbox.clone());
    assert!(process.pid().is_none() && process.runs());
    process.kill();
    let how = starting.await.expect("it ran").run().await;
    assert!(how.starts_with("was killed by signal 9"), "{how}");
    assert!(outbox.take(1).lines[0].starts_with("there is no folder /no/such/folder"));
}
