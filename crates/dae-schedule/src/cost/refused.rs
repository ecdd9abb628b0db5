//! [`Refused`]: what is wrong with facts or figures.

/// A fact or a figure that no cost can be told for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}; {help}")]
pub struct Refused {
    /// Which one.
    pub what: &'static str,
    /// What is wrong with it, in one sentence without a full stop.
    pub why: String,
    /// What to give instead, in one sentence without a full stop.
    pub help: String,
}

impl Refused {
    pub(crate) fn new(what: &'static str, why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what, why: why.into(), help: help.into() }
    }
}

/// Refuses a number that is not one, or out of bounds.
pub(crate) fn within(what: &'static str, value: f64, (low, high): (f64, f64), refused: &mut Vec<Refused>) {
    // NaN is in no range.
    if !(low..=high).contains(&value) {
        let help = format!("give a number from {low:e} to {high:e}");
        refused.push(Refused::new(what, format!("{value} is out of bounds"), help));
    }
}
