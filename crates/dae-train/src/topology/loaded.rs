//! A topology that was read, and where in its text each key stands.

use super::consistency;
use super::document::Topology;
use super::error::TopologyError;
use super::kinds::Kinds;
use super::marks::Marks;
use super::plan::Plan;

/// A topology read from a text; errors found later still point into that text.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// What was read, defaults and overrides filled in.
    pub topology: Topology,
    name: String,
    read: Topology,
    marks: Marks,
}

impl Loaded {
    pub(super) fn new(name: &str, topology: Topology, marks: Marks) -> Self {
        Self {
            read: topology.clone(),
            topology,
            name: name.into(),
            marks,
        }
    }

    /// Checks the whole topology and makes it a plan.
    ///
    /// # Errors
    /// Everything that is wrong with it. A topology changed since it was read is compiled as one built in Rust,
    /// for the text no longer says what it holds.
    pub fn compile(self, kinds: &Kinds) -> Result<Plan, TopologyError> {
        if self.topology != self.read {
            return self.topology.compile(kinds);
        }
        self.check(kinds)
    }

    /// Compiles what was read, whatever has been done to the public field.
    pub(super) fn check(self, kinds: &Kinds) -> Result<Plan, TopologyError> {
        match consistency::check(&self.read, &self.marks, Some(kinds), &[]) {
            Ok(word) => Ok(Plan::new(self.name, self.read, word, self.marks)),
            Err(problems) => Err(TopologyError::of(&self.name, problems)),
        }
    }
}
