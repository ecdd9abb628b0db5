//! How every program of the project ends: its exit codes, in one place.

use std::process::ExitCode;

/// What every exit code means, for `--help` and the manual page.
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

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Done = 0,
    /// The job, or what was to be done, failed.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// Something could not be reached, or took too long.
    Unreachable = 3,
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
