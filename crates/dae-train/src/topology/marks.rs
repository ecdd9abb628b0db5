//! Where each key that was given stands, so that whatever is found later can still point at it.

use std::collections::BTreeMap;

use super::problem::{Place, Problem};

/// The places of sections, keys and list elements, by dotted name (`model`, `model.layers`, `model.layers[2]`).
#[derive(Debug, Clone, Default)]
pub(super) struct Marks(BTreeMap<String, Place>);

impl Marks {
    /// Notes where the key stands; what was noted of it before is overridden.
    pub fn note(&mut self, key: String, place: Place) {
        self.0.insert(key, place);
    }

    /// Forgets a key that something else replaces.
    pub fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Where the key stands, if it was given.
    pub fn place(&self, key: &str) -> Option<&Place> {
        self.0.get(key)
    }

    /// Whether the key was given rather than left to its default.
    pub fn given(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A problem of this key, at the key or, where it was left out, at its section.
    pub fn problem(
        &self,
        code: &'static str,
        key: &str,
        reason: impl Into<String>,
        fix: impl Into<String>,
    ) -> Problem {
        let section = |key: &str| self.0.get(key.rsplit_once('.')?.0).cloned();
        Problem {
            code,
            key: key.into(),
            reason: reason.into(),
            fix: fix.into(),
            place: self.0.get(key).cloned().or_else(|| section(key)),
        }
    }
}
