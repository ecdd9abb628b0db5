//! A failure with its exit code.

use dae_train::exit::Exit;
use miette::Report;

/// A failure as the user sees it, and the code the process ends with.
#[derive(Debug)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What is said on stderr.
    pub report: Report,
}

impl Failure {
    /// A failure of this code, explained by `report`.
    pub fn new(exit: Exit, report: impl Into<Report>) -> Self {
        Self { exit, report: report.into() }
    }
}
