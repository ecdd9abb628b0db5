//! All that is wrong with a topology, found at once.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, SourceCode};

use super::problem::Problem;

/// How many problems are kept: more would not be read, and a hostile file could ask for a million.
const MOST: usize = 32;

/// Why a topology cannot be run: every problem found, each with its place, its reason and its fix.
///
/// As a [`Diagnostic`] one problem stands for itself, and several are related to one headline.
#[derive(Debug, Clone)]
pub struct TopologyError {
    name: String,
    problems: Vec<Problem>,
    found: usize,
}

impl TopologyError {
    /// The error of these problems, one at least, of the topology of this name.
    pub(super) fn of(name: &str, mut problems: Vec<Problem>) -> Self {
        let found = problems.len();
        problems.truncate(MOST);
        Self {
            name: name.into(),
            problems,
            found,
        }
    }

    /// The first 32 problems: those of single keys in the order of the file, then those between keys.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The problem, if it is the only one.
    fn only(&self) -> Option<&Problem> {
        match self.problems.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(only) => only.fmt(f),
            None if self.found > self.problems.len() => {
                write!(
                    f,
                    "{}: {} problems, of which the first {MOST}",
                    self.name, self.found
                )
            }
            None => write!(f, "{}: {} problems", self.name, self.found),
        }
    }
}

impl std::error::Error for TopologyError {}

impl Diagnostic for TopologyError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.only()?.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.only()?.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only()?.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.only() {
            Some(_) => None,
            None => Some(Box::new(self.problems.iter().map(|p| p as &dyn Diagnostic))),
        }
    }
}
