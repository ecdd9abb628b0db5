//! A daemon, and what it says of itself and of others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::rig::{Lan, poll, program};

/// How long a daemon may take to be ready when everything else on this machine is busy.
const READY: Duration = Duration::from_secs(10);

/// A daemon, killed with the test.
pub struct Daemon {
    /// Its node's name.
    pub name: String,
    cluster: String,
    runtime_dir: PathBuf,
    log: PathBuf,
    child: Child,
    started: Instant,
}

impl Daemon {
    /// Starts the daemon n`place` at that place, whose output goes to a file.
    pub fn start(lan: &Lan, place: usize, cluster: &str, key: &Path, more: &[&str]) -> Self {
        let name = format!("n{place}");
        let log = lan.folder().join(format!("{cluster}-{name}-{}.log", unique()));
        let file = fs::File::create(&log).unwrap();
        let mut command = lan.at(place, program().get_program());
        command.args(["join", "--cluster", cluster, "--name", &name, "--key-file"]).arg(key).args(more);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let started = Instant::now();
        let child = command.spawn().unwrap();
        Self { name, cluster: cluster.to_owned(), runtime_dir: lan.runtime_dir(place), log, child, started }
    }

    /// Waits for the line that says it is ready; how long that took from its start.
    pub fn ready(&mut self) -> Duration {
        let began = self.started;
        let found = poll(READY, || {
            assert!(self.child.try_wait().unwrap().is_none(), "{} ended:\n{}", self.name, self.output());
            self.output().contains(" listens on ").then(|| began.elapsed())
        });
        found.unwrap_or_else(|| panic!("{} is not ready:\n{}", self.name, self.output()))
    }

    /// What it has printed.
    pub fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it: `nodes`, `status`, `jobs` or `actors`. `None` while it does not answer.
    pub fn ask(&self, what: &str) -> Option<Value> {
        let mut command = program();
        command.args([what, "--cluster", &self.cluster, "--node", &self.name, "--json"]);
        command.env("XDG_RUNTIME_DIR", &self.runtime_dir);
        let output = command.output().unwrap();
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    /// How it is.
    pub fn status(&self) -> Value {
        poll(READY, || self.ask("status")).unwrap_or_else(|| panic!("no answer:\n{}", self.output()))
    }

    /// The nodes as it sees them, each with its state.
    pub fn sees(&self) -> Vec<(String, String)> {
        let Some(answer) = self.ask("nodes") else { return vec![] };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let nodes = answer["nodes"].as_array().cloned().unwrap_or_default();
        nodes.iter().map(|node| (text(&node["name"]), text(&node["state"]))).collect()
    }

    /// How it judges that node.
    pub fn judges(&self, node: &str) -> Option<String> {
        self.sees().into_iter().find(|(name, _)| name == node).map(|(_, state)| state)
    }

    /// Waits until it sees so many nodes alive, itself among them, and no others that are not.
    pub fn until_it_sees(&mut self, nodes: usize, deadline: Duration) {
        self.ready();
        let complete = poll(deadline, || {
            let seen = self.sees();
            (seen.len() == nodes && seen.iter().all(|(_, state)| state == "alive")).then_some(())
        });
        assert!(complete.is_some(), "{} sees {:?}\n{}", self.name, self.sees(), self.output());
    }

    /// Waits until it has heard from so many others, by their datagrams: a connection alone has no pulse.
    pub fn until_it_has_heard(&self, others: usize) {
        let heard = poll(READY, || {
            let answer = self.ask("nodes")?;
            let phis = answer["nodes"].as_array()?.iter().filter_map(|node| node["phi"].as_f64());
            (phis.count() == others).then_some(())
        });
        assert!(heard.is_some(), "{} hears too few: {:#?}", self.name, self.ask("nodes"));
    }

    /// Waits until it judges that node so.
    pub fn until_it_judges(&self, node: &str, state: &str, deadline: Duration) {
        let found = poll(deadline, || (self.judges(node)? == state).then_some(()));
        assert!(found.is_some(), "{} does not find {node} {state}: {:#}", self.name, self.status());
    }

    /// When it first said something like this after `since`, by what it wrote down itself: after how long.
    pub fn told(&self, words: &[&str], since: SystemTime, deadline: Duration) -> Duration {
        let since_ms = since.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let found = poll(deadline, || {
            let status = self.status();
            let events = status["events"].as_array().unwrap();
            let at = events.iter().find_map(|event| {
                let (at, what) = (event["at_ms"].as_u64()?, event["what"].as_str()?);
                (at >= since_ms && words.iter().all(|word| what.contains(word))).then_some(at)
            })?;
            Some(Duration::from_millis(at - since_ms))
        });
        found.unwrap_or_else(|| panic!("{} does not tell {words:?}: {:#}", self.name, self.status()))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }

    /// Waits until it has ended.
    pub fn ended(&mut self, deadline: Duration) -> ExitStatus {
        let ended = poll(deadline, || self.child.try_wait().unwrap());
        ended.unwrap_or_else(|| panic!("{} does not end:\n{}", self.name, self.output()))
    }

    /// Its resident memory in bytes.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// The time it has computed.
    pub fn computed(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        // In user and in system mode, in hundredths of a second.
        let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Ended already, as a rule. One that is stopped is killed all the same.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- {} of `{}`:\n{}", self.name, self.cluster, self.output());
        }
    }
}

/// Sends a signal to a process of this test.
pub fn send(pid: u32, signal: i32) {
    // SAFETY: the process was started by this test, and has not been waited for.
    #[allow(unsafe_code)]
    let sent = unsafe { libc::kill(i32::try_from(pid).unwrap(), signal) };
    assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
}

/// Runs it to its end, which must be good; its output.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// Runs it to its end, which must be bad; what it says, in one line without the frame.
pub fn fail(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(!output.status.success(), "{command:?} succeeds:\n{}", said.concat());
    let frame = ["│", "×", "╰─▶", "├─▶"];
    said.concat().split_whitespace().filter(|word| !frame.contains(word)).collect::<Vec<_>>().join(" ")
}

fn unique() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}
