//! One thing that is wrong with a topology, and where.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// A text problems can point into: a file, or one `--set` of the command line.
pub(super) type Source = Arc<NamedSource<String>>;

/// A stretch of a source.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub source: Source,
    /// In bytes.
    pub span: Range<usize>,
}

impl Place {
    /// The text it covers; empty if the span does not lie in the source.
    pub fn text(&self) -> &str {
        self.source.inner().get(self.span.clone()).unwrap_or("")
    }
}

/// One thing that is wrong: the key, the reason, the fix, and the line it stands in.
#[derive(Debug, Clone)]
pub struct Problem {
    pub(super) code: &'static str,
    pub(super) key: String,
    pub(super) reason: String,
    pub(super) fix: String,
    pub(super) place: Option<Place>,
}

impl Problem {
    /// What kind of problem it is, such as `unknown-key`; the schedule's own code where its word is at fault.
    pub fn code(&self) -> &str {
        self.code
    }

    /// The dotted key at fault, such as `job.steps`; empty where the whole file is.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Why it is a problem.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What to do about it.
    pub fn fix(&self) -> &str {
        &self.fix
    }

    /// The text under the caret; nothing where the value is a default and stands nowhere.
    pub fn excerpt(&self) -> Option<&str> {
        self.place.as_ref().map(Place::text)
    }

    /// The line, from 1, of the text under the caret.
    pub fn line(&self) -> Option<usize> {
        let place = self.place.as_ref()?;
        let before = place.source.inner().as_bytes().get(..place.span.start)?;
        Some(1 + before.iter().filter(|b| **b == b'\n').count())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => f.write_str(&self.reason),
            key => write!(f, "{key}: {}", self.reason),
        }
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.fix))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &place.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let label = self.code.replace(['-', '_'], " ");
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(
            Some(label),
            place.span.clone(),
        ))))
    }
}
