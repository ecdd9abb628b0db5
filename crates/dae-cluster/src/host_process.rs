//! A host's process: started in a group of its own, watched, ended with all it started, always reaped.

use crate::jobs::Outbox;
use crate::logs::plain;
use crate::protocol::BulkPlace;
use crate::protocol::hosts::{BULK_ADDRESS, TOKEN};
use crate::protocol::jobs::StartHost;
use rustix::process::{Pid, PidfdFlags, Signal};
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
        error: std::io::Error,
    },
    /// It runs, and cannot be watched; it was ended again.
    #[error("cannot watch {program}: {error}")]
    Watch {
        /// The program.
        program: String,
        /// Why.
        error: std::io::Error,
    },
}

/// A process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct HostProcess {
    pid: Pid,
    /// How it ended. As long as that is not known, nobody has reaped it, so its number is nobody else's.
    ended: watch::Receiver<Option<String>>,
}

impl HostProcess {
    /// Starts `PROGRAM serve --socket PATH --job ID`. The future reads its lines and reaps it; it must be run.
    pub(crate) fn start(
        start: &StartHost,
        socket: &Path,
        bulk: &BulkPlace,
        outbox: Rc<Outbox>,
    ) -> Result<(Self, impl Future<Output = String> + 'static), StartError> {
        let program = start.program.display().to_string();
        if !start.program.is_absolute() {
            return Err(StartError::Relative(program));
        }
        let cwd = if start.cwd.is_dir() {
            start.cwd.as_path()
        } else {
            outbox.line(format!("there is no folder {} on this node: started in /", start.cwd.display()));
            Path::new("/")
        };
        let mut command = Command::new(&start.program);
        command
            .arg("serve")
            .arg("--socket")
            .arg(socket)
            .args(["--job", &start.job])
            .env(TOKEN, &start.token)
            .env(BULK_ADDRESS, bulk.to_string())
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the daemon's terminal is not meant for it; and it can be ended with all it starts.
            .process_group(0);
        let child = command.spawn().map_err(|error| StartError::Run { program: program.clone(), error })?;
        let pid = Pid::from_child(&child);
        let (tell, ended) = watch::channel(None);
        let process = Self { pid, ended };
        let watch = Watch::of(child, pid).map_err(|(mut child, error)| {
            process.kill();
            // It was killed a moment ago: this takes no time.
            let _ = child.wait();
            StartError::Watch { program, error }
        })?;
        let watched = async move {
            let how = watch.run(&outbox).await;
            tell.send_replace(Some(how.clone()));
            how
        };
        Ok((process, watched))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }

    /// Its number, for signals.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
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
        if self.runs() {
            // Nobody there any more is what was wanted.
            let _ = rustix::process::kill_process_group(self.pid, signal);
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

/// What is needed to watch a process.
struct Watch {
    child: Child,
    pid: Pid,
    fd: AsyncFd<OwnedFd>,
    out: pipe::Receiver,
    err: pipe::Receiver,
}

impl Watch {
    fn of(mut child: Child, pid: Pid) -> Result<Self, (Child, std::io::Error)> {
        let parts = (|| {
            let missing = || std::io::Error::other("its output is not piped");
            let fd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
            let fd = readable(fd)?;
            let out = pipe::Receiver::from_owned_fd(child.stdout.take().ok_or_else(missing)?.into())?;
            let err = pipe::Receiver::from_owned_fd(child.stderr.take().ok_or_else(missing)?.into())?;
            Ok((fd, out, err))
        })();
        match parts {
            Ok((fd, out, err)) => Ok(Self { child, pid, fd, out, err }),
            Err(error) => Err((child, error)),
        }
    }

    /// Reads until the process has ended, ends what it left in its group, and reaps it.
    async fn run(mut self, outbox: &Outbox) -> String {
        let reading = async { tokio::join!(lines(self.out, outbox), lines(self.err, outbox)) };
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
            let _ = tokio::time::timeout(LAST_LINES, reading).await;
        }
        match self.child.wait() {
            Ok(status) => in_words(status),
            Err(error) => format!("ended, and how is not known: {error}"),
        }
    }
}

/// Watches a descriptor for being readable: that of a process is when it has ended.
#[allow(unsafe_code)]
fn readable(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
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
