//! Exit codes, and a failure with its code.

use std::process::ExitCode;

use miette::Report;

/// What every exit code means, for `--help` and the man page.
pub const CODES: &str = "\
Exit codes:
  0    done
  1    the job failed
  2    wrong usage
  3    something could not be reached, or took too long
  4    a topology or a schedule is invalid
  5    a peer or a client is not authenticated
  6    done in part
  130  interrupted";

/// Why the process ends other than well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The job, or what was to be done, failed.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// Something could not be reached, or took too long.
    Unreachable = 3,
    /// A topology or a schedule is invalid.
    Invalid = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

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
