//! What the disk refused, in a plain sentence.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// An operation on a file or folder failed. It prints what was tried, the cause, and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} {}: {}", .path.display(), explain(.source))]
pub struct DiskError {
    /// What was tried, as a verb: `write`, `read`, `create the folder`.
    pub doing: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl DiskError {
    /// For `map_err`: `File::open(path).map_err(DiskError::when("open", path))`.
    pub fn when(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}

fn explain(error: &io::Error) -> String {
    let sentence = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full; free some space, keep fewer checkpoints, or use another folder"
        }
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; use another folder",
        ErrorKind::PermissionDenied => {
            "permission denied; make it accessible to this user, or use another folder"
        }
        ErrorKind::NotFound => "it does not exist; check the path",
        ErrorKind::NotADirectory => "a part of the path is not a folder; use another path",
        ErrorKind::FileTooLarge => "the file is larger than the file system or a limit allows",
        _ => return format!("{error}; check the disk and the path"),
    };
    sentence.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_cause_and_remedy() {
        let sentence = |kind: ErrorKind| {
            DiskError::when("write", Path::new("runs/a"))(io::Error::from(kind)).to_string()
        };
        assert_eq!(
            sentence(ErrorKind::StorageFull),
            "could not write runs/a: the disk is full; free some space, keep fewer checkpoints, or use another folder"
        );
        assert!(sentence(ErrorKind::ReadOnlyFilesystem).contains("read-only; use another folder"));
        assert!(sentence(ErrorKind::PermissionDenied).contains("permission denied; make it"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_called_full() {
        use std::io::Write;
        let path = Path::new("/dev/full");
        let error = std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut f| f.write_all(b"x"))
            .map_err(DiskError::when("write", path))
            .unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }
}
