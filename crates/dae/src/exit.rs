//! Exit codes, and a failure with its code.

use miette::Report;
use std::process::ExitCode;

/// How the process ends. The codes are those of `dae-node --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All is well.
    Done = 0,
    /// The job failed.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// A topology or a schedule is invalid.
    Invalid = 4,
    /// Somebody interrupted it.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

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
