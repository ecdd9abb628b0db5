//! What can be wrong with a data file: the file, the cause, the remedy.

use std::io;
use std::path::PathBuf;

/// Why a dataset could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Neither the file nor its gzip'd form exists.
    #[error("{path}: no such file, nor is there a {path}.gz; {remedy}", path = path.display())]
    Missing {
        /// The file that was asked for.
        path: PathBuf,
        /// Where it could come from.
        remedy: &'static str,
    },
    /// A directory, a pipe or a device.
    #[error("{path}: not a regular file; name an IDX file, raw or gzip'd", path = path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{path}: cannot be read: {source}; check its permissions", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not a byte.
    #[error("{path}: empty; fetch or copy it again", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It ends early.
    #[error(
        "{path}: truncated: its header calls for {expected} bytes and there are {found}; fetch it again",
        path = path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The bytes there should be, uncompressed, header included.
        expected: u64,
        /// The bytes there are.
        found: u64,
    },
    /// It goes on after its data.
    #[error(
        "{path}: bytes follow the {expected} that its header calls for; it is damaged, or not an IDX file",
        path = path.display()
    )]
    Trailing {
        /// The file.
        path: PathBuf,
        /// The bytes there should be, uncompressed, header included.
        expected: u64,
    },
    /// It does not start as an IDX file does.
    #[error(
        "{path}: starts with {found:02x?}, not with 00 00 and a type as an IDX file does; name another file",
        path = path.display()
    )]
    Magic {
        /// The file.
        path: PathBuf,
        /// Its first four bytes.
        found: [u8; 4],
    },
    /// Its elements are not unsigned bytes.
    #[error(
        "{path}: elements of IDX type {code:#04x}; only 0x08 (unsigned bytes) is read: convert it",
        path = path.display()
    )]
    ElementType {
        /// The file.
        path: PathBuf,
        /// The type in its header.
        code: u8,
    },
    /// Neither `[n, h, w]` nor `[n, f]`.
    #[error(
        "{path}: {rank} dimensions; images have 3 and vectors 2 (labels have 1 and are not trained on)",
        path = path.display()
    )]
    Rank {
        /// The file.
        path: PathBuf,
        /// The number of dimensions in its header.
        rank: u8,
    },
    /// A dimension is 0.
    #[error("{path}: nothing in it: its dimensions are {dims:?}; name another file", path = path.display())]
    NoSamples {
        /// The file.
        path: PathBuf,
        /// The dimensions in its header.
        dims: Vec<u32>,
    },
    /// The dimensions multiply to more than is ever read.
    #[error(
        "{path}: dimensions {dims:?} make more than {limit} bytes; it is damaged, or to be split",
        path = path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The dimensions in its header.
        dims: Vec<u32>,
        /// The most that is read, in bytes.
        limit: u64,
    },
    /// Its compression is broken.
    #[error("{path}: damaged gzip data: {source}; fetch or copy it again", path = path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        source: io::Error,
    },
}
