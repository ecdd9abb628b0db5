//! The folder of one run.

use super::{DiskError, create_folder, sync_folder};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What must fit on the disk before a run starts, in bytes: its logs and pictures.
const ROOM: u64 = 1 << 20;

/// The folder one run writes into, locked against other processes for as long as this value lives.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// Closing the file releases the lock, also when the process is killed.
    _lock: File,
}

/// Why a folder cannot be used for a run.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Another process is writing to it.
    #[error("{} is in use by another process; wait until it ends, or choose another folder with --run-dir", .0.display())]
    InUse(PathBuf),
    /// It holds a run, and this one was not asked to go on from it.
    #[error("{} already holds a run; go on from it with --resume, or choose another folder with --run-dir", .0.display())]
    HoldsRun(PathBuf),
}

impl RunFolder {
    /// Creates the folder and its parents, locks it, and checks that it can be written to, before any work is done.
    ///
    /// # Errors
    /// If another process uses the folder, if it holds a run already and `resume` is false, or if the disk refuses:
    /// read-only, full, no permission.
    pub fn create(path: &Path, resume: bool) -> Result<Self, RunFolderError> {
        create_folder(path)?;
        let lock_path = path.join("run.lock");
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(DiskError::when("write", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunFolderError::InUse(path.to_owned())),
            Err(TryLockError::Error(e)) => return Err(DiskError::when("lock", &lock_path)(e).into()),
        }
        let folder = Self { root: path.to_owned(), _lock: lock };
        if !resume && (folder.events().exists() || folder.checkpoints().exists()) {
            return Err(RunFolderError::HoldsRun(path.to_owned()));
        }
        folder.check_room(ROOM)?;
        sync_folder(path)?;
        Ok(folder)
    }

    /// Checks that so many bytes fit on the disk, by writing and removing them.
    ///
    /// # Errors
    /// What the disk refused.
    pub fn check_room(&self, bytes: u64) -> Result<(), DiskError> {
        let path = self.root.join(".room.tmp");
        let written = File::create(&path).and_then(|mut file| {
            // Not zeros: a file system may store those without taking any room.
            let block = [0xa5; 64 * 1024];
            let mut left = bytes;
            while left > 0 {
                let n = left.min(block.len() as u64);
                file.write_all(&block[..n as usize])?;
                left -= n;
            }
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        written.and(removed).map_err(DiskError::when("write", &path))
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// The event log, one JSON object a line.
    pub fn events(&self) -> PathBuf {
        self.root.join("events.ndjson")
    }

    /// The picture of the training loss.
    pub fn loss_png(&self) -> PathBuf {
        self.root.join("loss.png")
    }

    /// The picture of clean, corrupted and denoised samples.
    pub fn reconstruction_png(&self) -> PathBuf {
        self.root.join("reconstruction.png")
    }

    /// What the run came to.
    pub fn summary_json(&self) -> PathBuf {
        self.root.join("summary.json")
    }

    /// How stale what the children of a join pushed was.
    pub fn staleness_json(&self) -> PathBuf {
        self.root.join("staleness.json")
    }

    /// The topology the run was started with.
    pub fn topology_toml(&self) -> PathBuf {
        self.root.join("topology.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_folder_is_created_and_left_clean() {
        let parent = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&parent.path().join("a/b"), false).unwrap();
        let names: Vec<_> = fs::read_dir(folder.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["run.lock"]);
    }

    #[test]
    fn one_user_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let first = RunFolder::create(parent.path(), false).unwrap();
        let error = RunFolder::create(parent.path(), true).unwrap_err();
        assert!(error.to_string().contains("in use by another process"), "{error}");
        drop(first);
        RunFolder::create(parent.path(), false).unwrap();
    }

    #[test]
    fn a_run_is_not_overwritten() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("events.ndjson"), "").unwrap();
        let error = RunFolder::create(parent.path(), false).unwrap_err().to_string();
        assert!(error.contains("--resume") && error.contains("--run-dir"), "{error}");
        RunFolder::create(parent.path(), true).unwrap();
    }

    #[test]
    fn a_path_through_a_file_is_explained() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("file"), "").unwrap();
        let error = RunFolder::create(&parent.path().join("file/run"), false).unwrap_err().to_string();
        assert!(error.contains("not a folder"), "{error}");
    }
}
