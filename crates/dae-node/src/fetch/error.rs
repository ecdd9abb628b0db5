//! What was tried, and why each failed.

use std::io;
use std::path::PathBuf;

/// Why files could not be fetched.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum FetchError {
    /// No source gave all the files.
    #[error("no source gave the files:\n  - {}", tried.join("\n  - "))]
    #[diagnostic(help(
        "check the network and try again, or copy the files, raw or gzip'd, into {folder} and run this again"
    ))]
    Unreachable {
        /// Each source, and why it failed.
        tried: Vec<String>,
        /// Where the files were to go.
        folder: String,
    },
    /// The folder cannot be written or read.
    #[error("{path}: cannot be read or written", path = path.display())]
    #[diagnostic(help("check the disk and its permissions, or name another folder by --to"))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// One source failed.
    #[error("{0}")]
    Source(String),
}

impl FetchError {
    /// What to do with a failure to touch `path`.
    pub fn at(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}
