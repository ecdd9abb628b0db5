//! Which actors' threads are still at work.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The actors of a system that have threads of their own and have not ended.
#[derive(Debug, Default)]
pub(crate) struct Living {
    names: Mutex<BTreeMap<u64, String>>,
    changed: Condvar,
}

/// One actor's entry; it goes with the actor.
pub(crate) struct Life {
    living: Arc<Living>,
    number: u64,
}

impl Living {
    /// Enters an actor.
    pub(crate) fn enter(self: &Arc<Self>, name: &str) -> Life {
        let mut names = self.lock();
        let number = names.last_key_value().map_or(0, |(last, _)| last + 1);
        names.insert(number, name.to_owned());
        Life { living: self.clone(), number }
    }

    /// The names of those that have not ended.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().values().cloned().collect()
    }

    /// Waits until all have ended, for so long at most; whether they have.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut names = self.lock();
        while !names.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            (names, _) = self.changed.wait_timeout(names, left).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.living.lock().remove(&self.number);
        self.living.changed.notify_all();
    }
}
