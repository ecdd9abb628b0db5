//! A host's process: started in a group of its own, watched, ended with all it started, always reaped.

use crate::host_start::{Started, ThreadKept};
use crate::jobs::Outbox;
use crate::logs::plain;
use crate::protocol::BulkPlace;
use crate::protocol::hosts::{BULK_ADDRESS, TOKEN};
use crate::protocol::jobs::StartHost;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long it may take until a process runs: its program and its folder may lie far away.
const START: Duration = Duration::from_secs(5);
/// How long the last lines of a process that has ended may take to come through.
const LAST_LINES: Duration = Duration::from_millis(500);
/// The longest line that is waited for, in bytes.
const LINE: usize = 8 << 10;

/// Why there is no process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Only an absolute path means the same on all nodes.
    #[error("the host program {0} is not an absolute path")]
    Relative(String),
    /// It cannot be run.
    #[error("cannot run {program}: {error}; the host program must lie at the same path on every node")]
    Run {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The file system does not answer.
    #[error(
        "{program} was not started within {START:?}: does the file system answer on which it or the job's folder lies?"
    )]
    Slow {
        /// The program.
        program: String,
    },
    /// It runs, and cannot be watched; it was ended again.
    #[error("cannot watch {program}: {error}")]
    Watch {
        /// The program.
        program: String,
        /// Why.
        error: io::Error,
    },
}

/// A process, or one that is being started; dropping it kills it.
#[derive(Debug)]
pub(crate) struct HostProcess {
    /// Its number, once it runs.
    pid: Rc<Cell<Option<Pid>>>,
    /// It is not wanted any more, though it may not run yet.
    unwanted: Rc<Cell<bool>>,
    /// How it ended. As long as that is not known, nobody has reaped it, so its number is nobody else's.
    ended: watch::Receiver<Option<String>>,
}

impl HostProcess {
    /// Starts `PROGRAM serve --socket PATH --job ID`. The future ends when it runs, or with why it does not; what it
    /// yields must be [run](Watched::run) to read its lines and to reap it.
    ///
    /// Folder and program may lie on a mount that does not answer: a thread of their own waits for them, not this one.
    pub(crate) fn start(
        start: &StartHost,
        socket: &Path,
        bulk: &BulkPlace,
        outbox: Rc<Outbox>,
    ) -> (Self, impl Future<Output = Result<Watched, StartError>> + 'static) {
        let (tell, ended) = watch::channel(None);
        let process = Self { pid: Rc::default(), unwanted: Rc::default(), ended };
        let (pid, unwanted) = (process.pid.clone(), process.unwanted.clone());
        let program = start.program.display().to_string();
        let cwd = start.cwd.clone();
        let relative = !start.program.is_absolute();
        let mut command = Command::new(&start.program);
        command
            .arg("serve")
            .arg("--socket")
            .arg(socket)
            .args(["--job", &start.job])
            .env(TOKEN, &start.token)
            .env(BULK_ADDRESS, bulk.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the daemon's terminal is not meant for it; and it can be ended with all it starts.
            .process_group(0);
        let starting = async move {
            if relative {
                return Err(StartError::Relative(program));
            }
            let run = |error| StartError::Run { program: program.clone(), error };
            let told = Started::begin(command, cwd.clone()).map_err(run)?;
            let Ok(told) = timeout(START, told).await else { return Err(StartError::Slow { program }) };
            let panicked = |_| Err(io::Error::other("the thread that starts it failed"));
            let started = told.unwrap_or_else(panicked).map_err(run)?;
            if !started.cwd_is_there {
                outbox.line(format!("there is no folder {} on this node: started in /", cwd.display()));
            }
            let Some((child, thread)) = started.take() else { unreachable!("nobody else takes it") };
            pid.set(Some(Pid::from_child(&child)));
            if unwanted.get() {
                kill_group(Pid::from_child(&child));
            }
            Watched::of(child, thread, outbox, tell).map_err(|error| StartError::Watch { program, error })
        };
        (process, starting)
    }

    /// Its number; 0 while it is being started.
    pub(crate) fn id(&self) -> u32 {
        self.pid().map_or(0, |pid| pid.as_raw_pid().unsigned_abs())
    }

    /// Its number, for signals.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.pid.get()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> watch::Receiver<Option<String>> {
        self.ended.clone()
    }

    /// Whether it has not ended yet.
    pub(crate) fn runs(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// Asks it to end, by a signal; for one that does not listen to messages.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills it, with all it started.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        match self.pid() {
            // Nobody there any more is what was wanted.
            Some(pid) if self.runs() => drop(rustix::process::kill_process_group(pid, signal)),
            Some(_) => {}
            None => self.unwanted.set(true),
        }
    }
}

/// Kills a process that has not been reaped, with all it started.
pub(crate) fn kill_group(pid: Pid) {
    // Nobody there any more is what was wanted.
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process that runs and is to be watched.
pub(crate) struct Watched {
    child: Child,
    pid: Pid,
    fd: AsyncFd<OwnedFd>,
    out: pipe::Receiver,
    err: pipe::Receiver,
    outbox: Rc<Outbox>,
    tell: watch::Sender<Option<String>>,
    /// The thread that started it: a host dies with that.
    _thread: ThreadKept,
}

impl Watched {
    fn of(
        mut child: Child,
        thread: ThreadKept,
        outbox: Rc<Outbox>,
        tell: watch::Sender<Option<String>>,
    ) -> io::Result<Self> {
        let pid = Pid::from_child(&child);
        let parts = (|| {
            let missing = || io::Error::other("its output is not piped");
            let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
            let fd = readable(fd)?;
            let out = pipe::Receiver::from_owned_fd(child.stdout.take().ok_or_else(missing)?.into())?;
            let err = pipe::Receiver::from_owned_fd(child.stderr.take().ok_or_else(missing)?.into())?;
            Ok((fd, out, err))
        })();
        match parts {
            Ok((fd, out, err)) => Ok(Self { child, pid, fd, out, err, outbox, tell, _thread: thread }),
            Err(error) => {
                kill_group(pid);
                // It was killed a moment ago: this takes no time.
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Reads until the process has ended, ends what it left in its group, and reaps it; says how it ended.
    pub(crate) async fn run(mut self) -> String {
        let reading = async { tokio::join!(lines(self.out, &self.outbox), lines(self.err, &self.outbox)) };
        tokio::pin!(reading);
        let mut read = false;
        loop {
            tokio::select! {
                _ = self.fd.readable() => break,
                _ = &mut reading, if !read => read = true,
            }
        }
        // Before it is reaped: until then the group's number cannot be anyone else's.
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        if !read {
            // Something may have left the group and still hold the pipe.
            let _ = timeout(LAST_LINES, reading).await;
        }
        let how = match self.child.wait() {
            Ok(status) => in_words(status),
            Err(error) => format!("ended, and how is not known: {error}"),
        };
        self.tell.send_replace(Some(how.clone()));
        how
    }
}

/// Watches a descriptor for being readable: that of a process is when it has ended.
#[allow(unsafe_code)]
fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` gives the same open descriptor as long as it lives, and it lives in the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?)
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(9)) => "was killed by signal 9 (by somebody, or by the system for want of memory)".into(),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Moves lines to the outbox, until the pipe ends. One that is too long comes in pieces.
async fn lines(mut pipe: pipe::Receiver, outbox: &Outbox) {
    let mut line = Vec::new();
    let mut chunk = vec![0; LINE];
    loop {
        let bytes = match pipe.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(bytes) => bytes,
        };
        for piece in chunk[..bytes].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || line.len() >= LINE {
                outbox.line(plain(&line));
                line.clear();
            }
        }
    }
    if !line.is_empty() {
        outbox.line(plain(&line));
    }
}

#[cfg(test)]
#[path = "host_process_tests.rs"]
mod tests;
