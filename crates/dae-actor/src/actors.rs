//! What is known of all actors of a system, for tables.

use crate::{Status, Stopped};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// One actor in a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorRow {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Messages sent to it and not yet handled to their end.
    pub depth: u64,
    /// The bound of its mailbox.
    pub bound: u64,
    /// How often it was made anew.
    pub restarts: u32,
    /// Whether it still runs.
    pub state: ActorState,
}

/// Whether an actor still runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActorState {
    /// It does.
    Running,
    /// It stopped for good.
    Stopped(Stopped),
}

impl ActorRow {
    pub(crate) fn of(kind: &str, status: &Status) -> Self {
        let stopped = status.stopped();
        // The panic that stopped it was followed by no restart.
        let last = u32::from(matches!(stopped, Some(Stopped::Panicked(_))));
        Self {
            name: status.name().to_owned(),
            kind: kind.to_owned(),
            depth: status.depth() as u64,
            bound: status.bound() as u64,
            restarts: status.panics().saturating_sub(last),
            state: stopped.map_or(ActorState::Running, ActorState::Stopped),
        }
    }
}

/// A view of the actors of a [`crate::System`]; it keeps none of them running. Cheap to clone, for any thread.
#[derive(Debug, Clone, Default)]
pub struct Actors(Arc<Mutex<Vec<Entry>>>);

/// The kind of an actor, and its record.
type Entry = (&'static str, Arc<Status>);

impl Actors {
    /// How many stopped ones are remembered.
    pub const STOPPED_KEPT: usize = 64;

    /// All that run, and the latest of those that stopped, in the order they were started.
    pub fn rows(&self) -> Vec<ActorRow> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|(kind, status)| ActorRow::of(kind, status)).collect()
    }

    pub(crate) fn enter(&self, kind: &'static str, status: &Arc<Status>) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stopped = entries.iter().filter(|(_, status)| status.stopped().is_some()).count();
        let mut surplus = stopped.saturating_sub(Self::STOPPED_KEPT);
        entries.retain(|(_, status)| {
            let goes = surplus > 0 && status.stopped().is_some();
            surplus -= usize::from(goes);
            !goes
        });
        entries.push((kind, status.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_and_the_latest_of_the_stopped_are_kept() {
        let actors = Actors::default();
        let enter = |name: String, stops: bool| {
            let status = Arc::new(Status::new(name, 8));
            actors.enter("idle", &status);
            if stops {
                status.panicked("no luck");
                status.stop(Stopped::Panicked("no luck".into()));
            }
        };
        enter("first".into(), false);
        (0..100).for_each(|n| enter(n.to_string(), true));
        enter("last".into(), false);
        let rows = actors.rows();
        assert_eq!(rows.len(), Actors::STOPPED_KEPT + 2);
        assert_eq!((&*rows[0].name, &*rows[1].name, &*rows[65].name), ("first", "36", "last"));
        let stopped = ActorState::Stopped(Stopped::Panicked("no luck".into()));
        assert_eq!((rows[1].restarts, &rows[1].state, &rows[0].state), (0, &stopped, &ActorState::Running));
    }
}
