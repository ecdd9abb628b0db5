//! Ctrl-C: once to finish the step and save, twice to leave at once.

use dae_train::exit::Exit;
use dae_train::job::JobHandle;
use indicatif::ProgressBar;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};

/// Whether somebody has interrupted this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Whether it has come to that.
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Listens for SIGINT and SIGTERM until the process ends, on a thread of its own: the second one must be heard
    /// whatever the others are at.
    pub(crate) fn listen(&self, job: &JobHandle, bar: &ProgressBar) {
        let (interrupted, job, bar) = (self.clone(), job.clone(), bar.clone());
        let listen = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            match runtime {
                Ok(runtime) => runtime.block_on(interrupted.answer(&job, &bar)),
                Err(e) => tracing::warn!(cause = %e, "signals cannot be heard: Ctrl-C ends this run at once"),
            }
        };
        if let Err(e) = std::thread::Builder::new().name("signals".into()).spawn(listen) {
            tracing::warn!(cause = %e, "signals cannot be heard: Ctrl-C ends this run at once");
        }
    }

    async fn answer(&self, job: &JobHandle, bar: &ProgressBar) {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            tracing::warn!("signals cannot be heard: Ctrl-C ends this run at once");
            return;
        };
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => "interrupted",
                _ = terminate.recv() => "terminated",
            }
        };
        let why = next().await;
        self.0.store(true, Ordering::Release);
        bar.suspend(|| eprintln!("{why}: finishing this step and saving; once more leaves at once"));
        job.stop(why);
        next().await;
        leave(Exit::Interrupted);
    }
}

/// Ends the process without another word: nothing needs to be put in order, for every file is written under another
/// name and renamed when it is whole.
#[allow(unsafe_code)]
pub(crate) fn leave(exit: Exit) -> ! {
    // SAFETY: ends the process. Unlike `std::process::exit` it runs no C++ destructors under computing threads.
    unsafe { libc::_exit(exit as i32) }
}
