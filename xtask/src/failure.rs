//! Why a task stopped: a sentence for a person, or the exit status of a command that has already spoken.
use std::io;
use std::path::Path;

/// Why a task stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// One sentence: what is wrong and what to do.
    #[error("{0}")]
    Says(String),
    /// A command ended with this status after printing its own reason; `main` passes the status on.
    #[error("`{line}` ended with status {status}")]
    Status {
        /// The command as it was printed.
        line: String,
        /// Its exit status, 1 to 255.
        status: u8,
    },
}

impl Failure {
    /// A failure of one sentence.
    pub fn says(sentence: impl Into<String>) -> Self {
        Self::Says(sentence.into())
    }

    /// What went wrong with a file or folder. A full disk is the one cause that has its own advice.
    pub fn file(doing: &str, path: &Path, error: io::Error) -> Self {
        let path = path.display();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::says(format!(
                "cannot {doing} {path}, the disk is full: free some space, or set XDG_CACHE_HOME to a folder on a larger disk"
            )),
            _ => Self::says(format!(
                "cannot {doing} {path} ({error}): check that the folder exists and is yours to write"
            )),
        }
    }
}

/// What tasks return.
pub type Outcome<T = ()> = Result<T, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = Failure::file("write", Path::new("a"), io::ErrorKind::StorageFull.into()).to_string();
        assert!(full.contains("disk is full") && full.contains("XDG_CACHE_HOME"), "{full}");
        let denied = Failure::file("write", Path::new("a"), io::ErrorKind::PermissionDenied.into());
        assert!(!denied.to_string().contains("disk is full"), "{denied}");
    }
}
