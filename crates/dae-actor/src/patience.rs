//! Waits for the next frame awake for a moment, before it sleeps.

use dae_net::{Frame, LinkError, LinkReceiver};
use std::pin::pin;
use std::time::{Duration, Instant};

/// How long to stay awake: longer than a peer that has to be woken takes to answer.
const AWAKE: Duration = Duration::from_micros(100);

/// The most waits, as a power of two, that follow on one another without trying again.
const MOST_DOUBLINGS: u32 = 6;

/// Where processors idle, waking one up takes longer than an ask does otherwise: 45 us of a virtual one's, twice in
/// each round trip. So a link that was just used is looked at for a moment more before the thread sleeps; while that is
/// in vain, as on a link with little traffic or where the peer waits for this very processor, it is tried ever less.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    in_vain: u32,
    asleep: u32,
}

impl Patience {
    /// The next frame, as [`LinkReceiver::recv`] gives it.
    pub(crate) async fn next(&mut self, receiver: &mut LinkReceiver) -> Result<Option<Frame>, LinkError> {
        let mut waiting = pin!(receiver.recv());
        if self.asleep > 0 {
            self.asleep -= 1;
            return waiting.await;
        }
        let until = Instant::now() + AWAKE;
        while Instant::now() < until {
            tokio::select! {
                biased;
                next = &mut waiting => {
                    self.in_vain = 0;
                    return next;
                }
                // All other tasks of the thread have their turn.
                () = tokio::task::yield_now() => {}
            }
        }
        self.in_vain = (self.in_vain + 1).min(MOST_DOUBLINGS);
        self.asleep = (1 << self.in_vain) - 1;
        waiting.await
    }
}
