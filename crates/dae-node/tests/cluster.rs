//! The command line and the daemon as processes.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn dae(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dae-node"));
    command
        .args(arguments)
        .env("XDG_RUNTIME_DIR", root)
        .env("XDG_STATE_HOME", root)
        .env_remove("DAE_KEY_FILE");
    command
}

fn output(root: &Path, arguments: &[&str]) -> Output {
    dae(root, arguments).stdin(Stdio::null()).output().unwrap()
}

/// What a command that must fail says, with its exit code; line breaks of the report are undone.
fn refusal(root: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = output(root, arguments);
    let text = String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ");
    (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A daemon; it is killed with the test.
struct Daemon {
    child: Child,
    line: String,
    ready_after: Duration,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn join(root: &Path, name: &str) -> Daemon {
    ready(dae(root, &["join", "--cluster", "test", "--name", name]).stderr(Stdio::null()))
}

/// Starts a daemon and waits until it is ready.
fn ready(command: &mut Command) -> Daemon {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    Daemon { child, line, ready_after: start.elapsed() }
}

/// Name and state of every node, as the daemon `of` sees them.
fn states(root: &Path, of: &str) -> Vec<(String, String)> {
    let output = output(root, &["nodes", "--cluster", "test", "--node", of, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["version"], 1);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    json["nodes"].as_array().unwrap().iter().map(|node| (text(&node["name"]), text(&node["state"]))).collect()
}

fn until(what: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE, "waited in vain");
        std::thread::yield_now();
    }
    start.elapsed()
}

fn all(names: &[(&str, &str)]) -> Vec<(String, String)> {
    names.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect()
}

#[test]
fn daemons_join_are_listed_and_one_that_is_killed_has_left_at_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (first, second) = (join(root, "n1"), join(root, "n2"));
    let mut third = join(root, "n3");
    let line = &first.line;
    assert!(
        line.starts_with("node n1 (") && line.contains(") of cluster test listens on 127.0.0.1:"),
        "{line}"
    );
    assert!(line.contains("for this machine only; found by sockets"), "{line}");
    assert!(third.ready_after < Duration::from_secs(2), "{:?}", third.ready_after);
    for name in ["n1", "n2", "n3"] {
        until(|| states(root, name) == all(&[("n1", "alive"), ("n2", "alive"), ("n3", "alive")]));
    }
    third.child.kill().unwrap();
    let after = until(|| states(root, "n1") == all(&[("n1", "alive"), ("n2", "alive"), ("n3", "left")]));
    assert!(after < Duration::from_secs(2), "{after:?}");
    // In order: a signal for one, a command for the other.
    let pid = rustix::process::Pid::from_child(&first.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut first = first;
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    let status = String::from_utf8(output(root, &["status", "--cluster", "test"]).stdout).unwrap();
    assert!(status.contains("n1 has left") && status.contains("goodbye"), "{status}");
    assert!(output(root, &["leave", "--cluster", "test", "--node", "n2"]).status.success());
    let mut second = second;
    assert_eq!(second.child.wait().unwrap().code(), Some(0));
    let (code, told) = refusal(root, &["nodes", "--cluster", "test"]);
    assert!(code == Some(3) && told.contains("n3 left its socket behind"), "{told}");
}

#[test]
fn a_join_that_cannot_be_says_why_and_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let key = root.join("key");
    let key_text = key.display().to_string();
    for (arguments, words) in [
        (&["join", "--listen", "0.0.0.0:0"][..], &["without a key", "dae-node key new"][..]),
        (&["join", "--seed", "10.0.0.1:7946"], &["without a key", "10.0.0.1:7946"]),
        (&["join", "--cluster", "a/b"], &["cluster `a/b`", "letters"]),
        (&["join", "--listen", "localhost:1"], &["names are not looked up"]),
        (&["join", "--discovery", "mdsn"], &["mdsn", "mdns"]),
        (&["jion"], &["jion", "join"]),
    ] {
        let (code, told) = refusal(root, arguments);
        assert!(
            code == Some(2) && words.iter().all(|word| told.contains(word)),
            "{arguments:?}: {code:?} {told}"
        );
    }
    let joining = ["join", "--key-file", &key_text];
    let (code, told) = refusal(root, &joining);
    assert!(code == Some(1) && told.contains("key"), "{told}");
    assert!(output(root, &["key", "new", &key_text]).status.success());
    assert_eq!(refusal(root, &["key", "new", &key_text]).0, Some(1), "a key is never overwritten");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, told) = refusal(root, &joining);
    assert!(code == Some(1) && told.contains("chmod 600"), "{told}");
}

#[test]
fn the_doctor_names_what_is_wrong_with_the_fix() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("none").display().to_string();
    let output = output(root.path(), &["doctor", "--key-file", &missing, "--host", &missing]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for topic in ["key", "daemon", "ports", "addresses", "multicast", "clock", "limits", "libtorch"] {
        assert!(text.lines().any(|line| line.split_whitespace().nth(1) == Some(topic)), "{topic} in\n{text}");
    }
    assert!(
        text.contains("error    key") && text.contains("error    libtorch") && text.contains("fix: "),
        "{text}"
    );
}

#[test]
fn a_hangup_means_to_leave_unless_it_is_ignored() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let hang_up = |child: &Child| {
        let pid = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    };
    let mut daemon = join(root, "n1");
    hang_up(&daemon.child);
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    assert!(!root.join("dae/test/n1.sock").exists(), "its socket is left");
    let words = "trap '' HUP; exec \"$0\" join --cluster test --name n2";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", words, env!("CARGO_BIN_EXE_dae-node")]);
    let daemon = ready(command.env("XDG_RUNTIME_DIR", root).env("XDG_STATE_HOME", root));
    hang_up(&daemon.child);
    assert_eq!(states(root, "n2"), all(&[("n2", "alive")]));
}

#[test]
fn a_daemon_whose_stderr_is_not_read_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut command = dae(root, &["join", "--cluster", "test", "--name", "n1"]);
    // More than the pipe holds, which is made as small as can be, while it answers questions.
    let mut daemon = ready(command.env("RUST_LOG", "trace").stderr(Stdio::piped()));
    let kept = daemon.child.stderr.take().unwrap();
    let room = rustix::pipe::fcntl_setpipe_size(&kept, 4096).unwrap() as u64;
    let alive = || states(root, "n1") == all(&[("n1", "alive")]);
    until(|| alive() && rustix::io::ioctl_fionread(&kept).unwrap() > room - 512);
    assert!(alive() && alive());
    assert!(output(root, &["leave", "--cluster", "test"]).status.success());
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
}
