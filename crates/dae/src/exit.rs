//! A failure with its exit code.

use dae_train::exit::Exit;
use miette::Report;

/// A failure as the user sees it, and the code the process ends with.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) report: Report,
}

impl Failure {
    /// A topology that is invalid.
    pub(crate) fn invalid(report: impl Into<Report>) -> Self {
        Self { exit: Exit::Invalid, report: report.into() }
    }

    /// A job that failed.
    pub(crate) fn failed(cause: impl std::fmt::Display) -> Self {
        Self { exit: Exit::Failed, report: miette::miette!("{cause}") }
    }
}
