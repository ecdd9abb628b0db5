//! A network of namespaces on a bridge, gone with the test: the bridge is in a namespace as well, so nothing but
//! namespaces has to be removed, and every process in them dies with the thread that started it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::daemon::Daemon;

/// The cluster of a test, unless it says otherwise. No two tests are on one network, so all may have the same.
pub const CLUSTER: &str = "lab";

/// A bridge, and places on it: place `i` has the addresses 10.87.0.i and fdda:e087::i on its `eth0`.
pub struct Lan {
    tag: String,
    places: usize,
    folder: TempDir,
}

impl Lan {
    /// A network with so many places; `None`, and a line that says why, where that cannot be had.
    pub fn of(places: usize) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let works = Command::new("ip").arg("-V").output().is_ok_and(|o| o.status.success());
        if !works || !is_root() {
            eprintln!("not tested: network namespaces take root and iproute2");
            return None;
        }
        sweep();
        let tag = format!("dae-t{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().unwrap();
        // From here on its drop cleans up, whatever fails.
        let mut lan = Self { tag, places: 0, folder };
        let bridge = lan.name(0);
        ip(&format!("netns add {bridge}"));
        ip(&format!("-n {bridge} link add lan type bridge mcast_snooping 0"));
        ip(&format!("-n {bridge} link set lan up"));
        for _ in 0..places {
            lan.add_place();
        }
        let key = lan.key();
        crate::daemon::succeed(program().args(["key", "new"]).arg(key));
        Some(lan)
    }

    /// One more place; its number.
    pub fn add_place(&mut self) -> usize {
        self.places += 1;
        let i = self.places;
        let (bridge, place) = (self.name(0), self.name(i));
        ip(&format!("netns add {place}"));
        ip(&format!("-n {place} link set lo up"));
        ip(&format!("link add p{i} netns {bridge} type veth peer name eth0 netns {place}"));
        ip(&format!("-n {bridge} link set p{i} master lan up"));
        // Nobody else can have the address: no need to ask around for a second.
        self.inside(i, || fs::write("/proc/sys/net/ipv6/conf/eth0/accept_dad", "0")).unwrap();
        ip(&format!("-n {place} addr add 10.87.0.{i}/24 dev eth0"));
        ip(&format!("-n {place} addr add fdda:e087::{i}/64 dev eth0 nodad"));
        ip(&format!("-n {place} link set eth0 up"));
        i
    }

    /// The namespace of a place; 0 is the bridge's.
    pub fn name(&self, place: usize) -> String {
        if place == 0 { format!("{}-lan", self.tag) } else { format!("{}-{place}", self.tag) }
    }

    /// The folder of this test.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The key that all daemons get unless they get another.
    pub fn key(&self) -> PathBuf {
        self.folder().join("key")
    }

    /// Where the sockets of a place's daemons are. Each has its own, so that none finds another there.
    pub fn runtime_dir(&self, place: usize) -> PathBuf {
        self.folder().join(format!("run{place}"))
    }

    /// The sockets of a place's daemons of the usual cluster.
    pub fn sockets(&self, place: usize) -> Vec<String> {
        let Ok(all) = fs::read_dir(self.runtime_dir(place).join("dae").join(CLUSTER)) else { return vec![] };
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".sock")).collect()
    }

    /// A command at a place. It dies with the thread that starts it.
    pub fn at(&self, place: usize, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "ip", "netns", "exec", &self.name(place)]).arg(program);
        command.stdin(Stdio::null()).env_remove("RUST_LOG").env_remove("DAE_HOST");
        self.environment(place, &mut command);
        command
    }

    /// `dae-node` with these arguments, asking the daemons of that place.
    pub fn client(&self, place: usize, arguments: &[&str]) -> Command {
        let mut command = program();
        self.environment(place, command.args(arguments));
        command
    }

    fn environment(&self, place: usize, command: &mut Command) {
        command.env("XDG_RUNTIME_DIR", self.runtime_dir(place));
        command.env("XDG_STATE_HOME", self.folder().join("state"));
    }

    /// Starts the daemon n`place` of the usual cluster with the usual key.
    pub fn start(&self, place: usize, more: &[&str]) -> Daemon {
        self.start_as(place, CLUSTER, &self.key(), more)
    }

    /// Starts the daemon n`place`.
    pub fn start_as(&self, place: usize, cluster: &str, key: &Path, more: &[&str]) -> Daemon {
        Daemon::start(self, place, cluster, key, more)
    }

    /// Starts so many daemons at once, and waits until each sees all and has heard from them.
    pub fn cluster(&self, nodes: usize) -> Vec<Daemon> {
        let mut all: Vec<Daemon> = (1..=nodes).map(|place| self.start(place, &[])).collect();
        for daemon in &mut all {
            daemon.until_it_sees(nodes, Duration::from_secs(10));
        }
        for daemon in &all {
            daemon.until_it_has_heard(nodes - 1);
        }
        all
    }

    /// Pulls the cable of a place, or puts it back.
    pub fn cable(&self, place: usize, plugged: bool) {
        let state = if plugged { "up" } else { "down" };
        ip(&format!("-n {} link set p{place} {state}", self.name(0)));
    }

    /// Lets everything that goes between a place and any other vanish without a word, multicast excepted: each
    /// believes the other at a hardware address nobody has. Or heals that.
    pub fn silence(&self, place: usize, silent: bool) {
        for other in (1..=self.places).filter(|other| *other != place) {
            for (at, of) in [(place, other), (other, place)] {
                for address in [format!("10.87.0.{of}"), format!("fdda:e087::{of}")] {
                    let at = self.name(at);
                    if silent {
                        let nobody = "lladdr 02:00:00:00:00:fe nud permanent";
                        ip(&format!("-n {at} neigh replace {address} dev eth0 {nobody}"));
                    } else {
                        ip(&format!("-n {at} neigh del {address} dev eth0"));
                    }
                }
            }
        }
    }

    /// Sends multicast from that place out by its `eth0`, for sockets that do not say where to.
    pub fn route_multicast(&self, place: usize) {
        ip(&format!("-n {} route add 224.0.0.0/4 dev eth0", self.name(place)));
    }

    /// Runs this on a thread of its own which is at that place: sockets it opens are there.
    pub fn inside<T: Send>(&self, place: usize, f: impl FnOnce() -> T + Send) -> T {
        use std::os::fd::AsRawFd;
        let namespace = fs::File::open(Path::new("/run/netns").join(self.name(place))).unwrap();
        std::thread::scope(|scope| {
            let there = scope.spawn(move || {
                // SAFETY: the descriptor is open; only this thread, made for it, is moved.
                #[allow(unsafe_code)]
                let moved = unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(moved, 0, "{}", std::io::Error::last_os_error());
                f()
            });
            there.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for place in 0..=self.places {
            // One that was never made is no failure.
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).output();
        }
    }
}

/// `dae-node`, built beside this test.
pub fn program() -> Command {
    let path = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("dae-node");
    assert!(path.is_file(), "{} is missing: run `cargo xtask build`", path.display());
    let mut command = Command::new(path);
    command.stdin(Stdio::null()).env_remove("RUST_LOG").env_remove("DAE_HOST");
    command
}

/// Waits until this says something; `None` after the deadline.
pub fn poll<T>(deadline: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if start.elapsed() > deadline {
            return None;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// `ip` with these arguments, separated by blanks.
pub fn ip(arguments: &str) {
    crate::daemon::succeed(Command::new("ip").args(arguments.split_whitespace()));
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|l| l.starts_with("Uid:\t0\t0")))
}

/// Removes what a test process that was killed has left.
fn sweep() {
    let Ok(names) = fs::read_dir("/run/netns") else { return };
    for name in names.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let owner = name.strip_prefix("dae-t").and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another test may have been faster.
            let _ = Command::new("ip").args(["netns", "del", &name]).output();
        }
    }
}
