//! The event log of a run.

use super::event::for_each_line;
use super::{DiskError, sync_parent};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Appends events to `events.ndjson`: one JSON object a line, numbers with all their digits.
///
/// Lines are buffered; [`EventLog::flush`] makes them survive this process, [`EventLog::sync`] a power failure.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl EventLog {
    /// Begins a new log, its name durable in its folder.
    ///
    /// # Errors
    /// If there is one already, or the disk refuses.
    pub fn create(path: &Path) -> Result<Self, DiskError> {
        let file = File::create_new(path).map_err(DiskError::when("create", path))?;
        sync_parent(path)?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Opens a log to go on from committed step `step`, at which the children of a join had done so many `rounds`: later
    /// `step`, `checkpoint` and `push` events are dropped, as are torn lines. The log is rewritten under a temporary name and renamed. One that does not exist is begun.
    ///
    /// # Errors
    /// What the disk refused; the log is then as it was.
    pub fn open_truncated_to(path: &Path, step: u64, rounds: &[u64]) -> Result<Self, DiskError> {
        if !path.exists() {
            return Self::create(path);
        }
        let temporary = path.with_extension("ndjson.tmp");
        let file = File::create(&temporary).map_err(DiskError::when("create", &temporary))?;
        let mut log = Self { path: temporary, file: BufWriter::new(file) };
        for_each_line(path, |line, text| {
            let later = match line.kind.as_str() {
                "step" | "skipped" | "checkpoint" => line.step.is_none_or(|s| s > step),
                "push" => {
                    let done = line.child.and_then(|child| rounds.get(child)).copied().unwrap_or(0);
                    line.round.is_none_or(|round| round >= done)
                }
                _ => false,
            };
            if later { Ok(()) } else { log.append_line(text) }
        })?;
        log.sync()?;
        fs::rename(&log.path, path).map_err(DiskError::when("replace", path))?;
        sync_parent(path)?;
        // The open file has moved along with its name.
        path.clone_into(&mut log.path);
        Ok(log)
    }

    /// Appends one event: an [`super::Event`], or another map with a `type`.
    ///
    /// # Errors
    /// What the disk refused.
    pub fn append(&mut self, event: &impl Serialize) -> Result<(), DiskError> {
        let line = serde_json::to_vec(event)
            .map_err(|e| DiskError::when("write an event to", &self.path)(e.into()))?;
        self.append_line(&line)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), DiskError> {
        self.file
            .write_all(line)
            .and_then(|()| self.file.write_all(b"\n"))
            .map_err(DiskError::when("write", &self.path))
    }

    /// Hands buffered lines to the operating system.
    ///
    /// # Errors
    /// What the disk refused.
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.file.flush().map_err(DiskError::when("write", &self.path))
    }

    /// Flushes, and waits until the disk has the lines: before a checkpoint, so that a resumed run has every line up to
    /// it.
    ///
    /// # Errors
    /// What the disk refused.
    pub fn sync(&mut self) -> Result<(), DiskError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(DiskError::when("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Event, read_losses};
    use super::*;
    use crate::centre::Taken;
    use proptest::prelude::*;

    fn step(step: u64) -> Event {
        Event::Step { step, loss: 1.0 / step as f64, samples: step * 256, lr: 0.001 }
    }

    fn push(round: u64) -> Event {
        Event::Push(Taken { child: 0, round, read: round, applied: Some(round + 1) })
    }

    #[test]
    fn lines_read_as_promised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.ndjson");
        let mut log = EventLog::create(&path).unwrap();
        log.append(&Event::Step { step: 1, loss: 0.69, samples: 256, lr: 0.001 }).unwrap();
        log.append(&Event::Step { step: 2, loss: f64::NAN, samples: 512, lr: 0.001 }).unwrap();
        log.append(&Event::Stopped { step: 2, reason: "asked to\nstop".into() }).unwrap();
        log.append(&push(3)).unwrap();
        log.flush().unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"type\":\"step\",\"step\":1,\"loss\":0.69,\"samples\":256,\"lr\":0.001}\n\
             {\"type\":\"step\",\"step\":2,\"loss\":null,\"samples\":512,\"lr\":0.001}\n\
             {\"type\":\"stopped\",\"step\":2,\"reason\":\"asked to\\nstop\"}\n\
             {\"type\":\"push\",\"child\":0,\"round\":3,\"read\":3,\"applied\":4}\n"
        );
        let losses = read_losses(&path).unwrap();
        assert_eq!(losses[0], (1, 0.69));
        assert!(losses.len() == 2 && losses[1].1.is_nan());
        assert!(EventLog::create(&path).is_err());
    }

    proptest! {
        /// Killed at any byte after the checkpoint's sync, resumed, and run to the end: the same steps.
        #[test]
        fn a_resumed_log_equals_an_uninterrupted_one(checkpoint in 0u64..20, cut in any::<prop::sample::Index>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("events.ndjson");
            let mut log = EventLog::create(&path).unwrap();
            let mut synced = 0;
            for s in 1..=20 {
                log.append(&push(s - 1)).unwrap();
                log.append(&step(s)).unwrap();
                log.append(&Event::Checkpoint { step: s, path: "there".into() }).unwrap();
                if s == checkpoint {
                    log.sync().unwrap();
                    synced = fs::metadata(&path).unwrap().len() as usize;
                }
            }
            drop(log);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..synced + cut.index(whole.len() - synced + 1)]).unwrap();

            let mut log = EventLog::open_truncated_to(&path, checkpoint, &[checkpoint]).unwrap();
            for s in checkpoint + 1..=20 {
                log.append(&push(s - 1)).unwrap();
                log.append(&step(s)).unwrap();
                log.append(&Event::Checkpoint { step: s, path: "there".into() }).unwrap();
            }
            drop(log);
            prop_assert_eq!(fs::read(&path).unwrap(), whole);
            prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn garbage_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.ndjson");
        fs::write(&path, b"\0\0\xff\n{\"type\":\"step\",\"step\":1,\"loss\":1}\n7\n{\"type\":\"mine\"}\n[")
            .unwrap();
        assert_eq!(read_losses(&path).unwrap(), [(1, 1.0)]);
        drop(EventLog::open_truncated_to(&path, 1, &[]).unwrap());
        let kept = "{\"type\":\"step\",\"step\":1,\"loss\":1}\n{\"type\":\"mine\"}\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), kept);
    }
}
