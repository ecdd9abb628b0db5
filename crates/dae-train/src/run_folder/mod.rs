//! The folder a run writes into: one process at a time, nothing half-written, every line of its log kept.
//!
//! | module | what it holds |
//! |---|---|
//! | `folder` | [`RunFolder`]: its creation, its lock and its paths |
//! | `event_log` | [`EventLog`]: `events.ndjson`, appended to, and cut back on resume |
//! | `event` | [`Event`]: what one line says; [`read_losses`] |
//! | `past` | [`Past`]: what a run has left behind, read by somebody else |
//! | `atomic` | [`write_atomic`]: a file is there as a whole or not at all; [`create_folder`] |
//! | `disk_error` | [`DiskError`]: what the disk refused, why, and what to do |
mod atomic;
mod disk_error;
mod event;
mod event_log;
mod folder;
mod past;

pub use atomic::{create_folder, sync_folder, sync_parent, write_atomic};
pub use disk_error::DiskError;
pub use event::{Event, read_losses};
pub use event_log::EventLog;
pub use folder::{RunFolder, RunFolderError};
pub use past::{Past, PastError, PastStep};
