//! Ctrl-C: once to finish the step and save, twice to leave at once.

use crate::exit::Exit;
use dae_train::job::JobHandle;
use indicatif::ProgressBar;
use tokio::signal::unix::{SignalKind, signal};

/// Listens for SIGINT and SIGTERM until the run is over.
pub(crate) async fn listen(job: JobHandle, bar: ProgressBar) {
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
    bar.suspend(|| eprintln!("{why}: finishing this step and saving; once more leaves at once"));
    job.stop(why);
    next().await;
    leave(Exit::Interrupted);
}

/// Ends the process without another word: nothing needs to be put in order, for every file is written under another
/// name and renamed when it is whole.
#[allow(unsafe_code)]
pub(crate) fn leave(exit: Exit) -> ! {
    // SAFETY: ends the process. Unlike `std::process::exit` it runs no C++ destructors under computing threads.
    unsafe { libc::_exit(exit as i32) }
}
