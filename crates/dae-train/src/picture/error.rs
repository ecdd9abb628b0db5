//! Why a picture could not be made.

use crate::run_folder::DiskError;
use std::path::PathBuf;

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The disk refused the file.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It would be larger than anybody can look at.
    #[error("the picture would be {width} x {height} pixels; show fewer or smaller images")]
    Size {
        /// Pixels a row.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// An image does not have the pixels that were stated.
    #[error("an image in the row {row:?} has {found} pixels instead of {expected}")]
    Image {
        /// The row's label.
        row: String,
        /// Width times height.
        expected: usize,
        /// What there is.
        found: usize,
    },
    /// The name of the file tells of no kind of picture that can be written.
    #[error("{} is no name of a picture; let it end in .png or .svg", .0.display())]
    Kind(PathBuf),
    /// Drawing or encoding failed.
    #[error("the picture could not be drawn: {0}")]
    Draw(String),
}
