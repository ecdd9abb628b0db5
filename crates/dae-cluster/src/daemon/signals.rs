//! The signals that tell a daemon to leave.

use std::fs;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::DaemonError;

/// The signals that tell a daemon to leave: SIGTERM, Ctrl-C, and SIGHUP unless whoever started it has it ignored
/// (`nohup`).
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on none of them ends the process.
    pub(super) fn listen() -> Result<Self, DaemonError> {
        let on = |kind| {
            signal(kind)
                .map_err(|error| DaemonError::Io { what: "signals cannot be waited for".into(), error })
        };
        let ignored = fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status));
        let hangup = if ignored { None } else { Some(on(SignalKind::hangup())?) };
        Ok(Self { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())?, hangup })
    }

    /// Waits for one of them.
    pub(super) async fn leave(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = hangup => {}
        }
    }
}

/// Whether a process with this status (proc_pid_status(5)) ignores SIGHUP, the signal of number 1.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_tells_whether_a_hangup_is_ignored() {
        assert!(ignores_hangup("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"));
        assert!(!ignores_hangup("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}
