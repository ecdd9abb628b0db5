//! [`Started`]: a process that was started on a thread of its own, for what it needs may lie on a mount that does not
//! answer.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{SyncSender, sync_channel};
use tokio::sync::oneshot;

/// Keeps the thread that started a process for as long as it is not dropped: a host asks the system to kill it when
/// its parent dies, and the system means that thread.
#[derive(Debug)]
pub(crate) struct ThreadKept {
    _until_dropped: SyncSender<()>,
}

/// A process that runs. One that nobody takes is killed and reaped.
#[derive(Debug)]
pub(crate) struct Started {
    parts: Option<(Child, ThreadKept)>,
    /// Whether it was started in the folder that was wanted, and not in `/`.
    pub(crate) cwd_is_there: bool,
}

impl Started {
    /// Starts `command` in `cwd`, or in `/` where there is no such folder. Whoever stops waiting wants no process.
    pub(crate) fn begin(
        mut command: Command,
        cwd: PathBuf,
    ) -> io::Result<oneshot::Receiver<io::Result<Self>>> {
        let (tell, told) = oneshot::channel();
        let (until_dropped, dropped) = sync_channel(0);
        let start = move || {
            let cwd_is_there = cwd.is_dir();
            command.current_dir(if cwd_is_there { &cwd } else { Path::new("/") });
            let thread = ThreadKept { _until_dropped: until_dropped };
            let started = command.spawn().map(|child| Self { parts: Some((child, thread)), cwd_is_there });
            drop(tell.send(started));
            // Nothing is ever sent.
            let _: Result<(), _> = dropped.recv();
        };
        std::thread::Builder::new().name("host".into()).spawn(start)?;
        Ok(told)
    }

    /// The process, and what keeps the thread that started it.
    pub(crate) fn take(mut self) -> Option<(Child, ThreadKept)> {
        self.parts.take()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some((mut child, _thread)) = self.parts.take() {
            // Not reaped yet, so its number is nobody else's; nobody there any more is what is wanted.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_nobody_waits_for_is_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let script = format!("echo $$ > {0}/pid; mkfifo {0}/pipe; cat {0}/pipe", folder.path().display());
        let mut command = Command::new("/bin/sh");
        std::os::unix::process::CommandExt::process_group(command.args(["-c", &script]), 0);
        let told = Started::begin(command, folder.path().into()).expect("begun");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !pipe.exists() {
            assert!(std::time::Instant::now() < until, "it does not start");
            std::thread::yield_now();
        }
        let pid = std::fs::read_to_string(folder.path().join("pid")).expect("a number");
        drop(told);
        while Path::new("/proc").join(pid.trim()).exists() {
            assert!(std::time::Instant::now() < until, "it is left");
            std::thread::yield_now();
        }
    }
}
