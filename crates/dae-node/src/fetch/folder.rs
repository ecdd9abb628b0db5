//! The folder files are kept in; nothing half-written stays there.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::error::FetchError;
use super::file::DataFile;

/// A folder of data files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates it and the folders above it.
    pub fn create(&self) -> Result<(), FetchError> {
        fs::create_dir_all(&self.path).map_err(FetchError::at(&self.path))
    }

    /// Those of `files` that are not there, or not as they should be.
    ///
    /// A gzip'd file counts if there is no raw one, as for the reader of datasets.
    pub fn missing(&self, files: &[DataFile]) -> Result<Vec<DataFile>, FetchError> {
        let mut missing = Vec::new();
        for file in files {
            if !self.has(file)? {
                missing.push(*file);
            }
        }
        Ok(missing)
    }

    fn has(&self, file: &DataFile) -> Result<bool, FetchError> {
        let raw = self.path.join(file.name);
        if is_file(&raw)? {
            let reader = File::open(&raw).map_err(FetchError::at(&raw))?;
            return Ok(file.read(reader).is_ok());
        }
        let zipped = self.path.join(format!("{}.gz", file.name));
        if is_file(&zipped)? {
            let reader = File::open(&zipped).map_err(FetchError::at(&zipped))?;
            return Ok(file.read(MultiGzDecoder::new(BufReader::new(reader))).is_ok());
        }
        Ok(false)
    }

    /// Writes a file whole: under a temporary name, synced, then renamed.
    pub fn place(&self, file: &DataFile, bytes: &[u8]) -> Result<(), FetchError> {
        let to = self.path.join(file.name);
        let temporary = Temporary(self.path.join(format!(".{}.{}.part", file.name, std::process::id())));
        let mut out = File::create(&temporary.0).map_err(FetchError::at(&temporary.0))?;
        out.write_all(bytes).and_then(|()| out.sync_all()).map_err(FetchError::at(&temporary.0))?;
        fs::rename(&temporary.0, &to).map_err(FetchError::at(&to))?;
        // The rename itself lasts only once the folder is on disk.
        File::open(&self.path).and_then(|folder| folder.sync_all()).map_err(FetchError::at(&self.path))
    }
}

/// Whether there is a file; anything else of that name is an error, for it can be neither read nor replaced.
fn is_file(path: &Path) -> Result<bool, FetchError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(FetchError::at(path)(std::io::Error::other("in the way: it is not a regular file"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FetchError::at(path)(error)),
    }
}

/// A file or folder that goes when this does, if it is still there.
#[derive(Debug)]
pub struct Temporary(pub PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Already renamed, as a rule; and nobody is left to tell of a failure.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}
