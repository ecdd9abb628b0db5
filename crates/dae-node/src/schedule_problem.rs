//! What is wrong with a schedule, as the terminal shows it: the word, and a caret under the culprit.

use std::fmt;
use std::sync::Arc;

use dae_schedule::{Problem, Severity};
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// How many problems are shown: more would not be read.
const MOST: usize = 32;

/// The problems of one schedule. One stands for itself, several are related to one headline.
#[derive(Debug)]
pub struct Problems {
    name: String,
    found: Vec<Found>,
    all: usize,
}

/// One problem with the text it was found in.
#[derive(Debug, Clone)]
struct Found {
    problem: Problem,
    source: Arc<NamedSource<String>>,
}

impl Problems {
    /// The problems of the schedule of this name and text.
    pub fn of(name: &str, text: &str, problems: &[Problem]) -> Self {
        let source = Arc::new(NamedSource::new(name, text.to_owned()));
        let found = |problem: &Problem| Found { problem: problem.clone(), source: source.clone() };
        Self {
            name: name.into(),
            found: problems.iter().take(MOST).map(found).collect(),
            all: problems.len(),
        }
    }

    fn only(&self) -> Option<&Found> {
        match self.found.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// Says on stderr what is wrong with a schedule that may run all the same.
pub fn warn(problems: &Problems) {
    for found in &problems.found {
        eprintln!("{:?}", miette::Report::new(found.clone()));
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(only) => only.fmt(f),
            None if self.all > MOST => {
                write!(f, "{}: {} problems, of which the first {MOST}", self.name, self.all)
            }
            None => write!(f, "{}: {} problems", self.name, self.all),
        }
    }
}

impl std::error::Error for Problems {}

impl Diagnostic for Problems {
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
            None => Some(Box::new(self.found.iter().map(|found| found as &dyn Diagnostic))),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Found {}

impl Diagnostic for Found {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.problem.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span =
            LabeledSpan::new_primary_with_span(Some(self.problem.code.into()), self.problem.at.clone());
        Some(Box::new(std::iter::once(span)))
    }
}
