//! [`Interrupts`]: Ctrl-C, for whoever must not just end.

use std::future::pending;

use dae_train::exit::Exit;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;
use crate::follow::say;

/// Ctrl-C. As soon as there is one of these, it does not end the process any more.
pub struct Interrupts {
    signal: Signal,
    /// One came that is still to be heeded.
    noted: bool,
}

impl Interrupts {
    /// Listens from now on; within a runtime only.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn listen() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Failed, miette::miette!("Ctrl-C cannot be waited for: {error}"))
        };
        Ok(Self { signal: signal(SignalKind::interrupt()).map_err(failed)?, noted: false })
    }

    /// Waits for one.
    pub async fn next(&mut self) {
        if !std::mem::take(&mut self.noted) && self.signal.recv().await.is_none() {
            pending().await
        }
    }

    /// Waits for what a daemon says to `what` was asked of it: a first Ctrl-C is noted for later, for what was asked may
    /// have been done; a second leaves at once.
    ///
    /// # Errors
    /// If there was a second.
    pub async fn note_while<T>(&mut self, what: &str, answer: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::pin!(answer);
        let mut noted = false;
        loop {
            tokio::select! {
                answer = &mut answer => {
                    self.noted |= noted;
                    return Ok(answer);
                }
                () = self.next() => {
                    if std::mem::replace(&mut noted, true) {
                        let help = "see whether it did: dae-node jobs";
                        return Err(Failure::new(
                            Exit::Interrupted,
                            miette::miette!(help = help, "left before the daemon had answered: it may {what}"),
                        ));
                    }
                    say(&format!("interrupted: the daemon may {what}; its answer is waited for, once more leaves at once"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn none_is_lost_while_a_daemon_is_asked_and_a_second_leaves() {
        let mut interrupts = Interrupts::listen().expect("listens");
        let press = || kill_process(getpid(), Signal::INT).expect("sent");
        press();
        assert_eq!(interrupts.note_while("have done it", async { 5 }).await.expect("answered"), 5);
        timeout(Duration::from_secs(5), interrupts.next()).await.expect("it is heeded now");
        let again = async {
            loop {
                press();
                tokio::task::yield_now().await;
            }
        };
        let left = tokio::select! {
            left = interrupts.note_while("have done it", pending::<()>()) => left.expect_err("left"),
            () = again => unreachable!("it presses for ever"),
        };
        assert!(left.exit == Exit::Interrupted && left.report.to_string().contains("may have done it"));
    }
}
