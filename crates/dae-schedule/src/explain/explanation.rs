//! [`Explanation`]: what a word is, all of it together.

use serde::Serialize;

use super::actors::{Actor, actors};
use super::synchronous::{Synchronous, synchronous};
use super::tree::{Branch, tree};
use super::verdict::{Verdict, verdict};
use crate::cost::{Cost, Facts, Figures, Refused, cost};
use crate::word::Word;

/// What a word is. It prints as text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The word.
    pub word: String,
    /// Its normal form.
    pub normal: String,
    /// Whether it trains as one worker with the same batch would.
    pub verdict: Verdict,
    /// The nearest word in which all wait for all at each step, if this is not one.
    pub synchronous: Option<Synchronous>,
    /// Its items, the outermost first.
    pub tree: Vec<Branch>,
    /// Who there is, and where.
    pub actors: Vec<Actor>,
    /// What they send, hold and take: messages and bytes by kind of link, places, all-reduces, staleness, memory.
    pub cost: Cost,
}

/// Explains a word.
///
/// # Errors
/// All facts and figures for which there is no answer.
pub fn explain(word: &Word, facts: &Facts, figures: &Figures) -> Result<Explanation, Vec<Refused>> {
    let cost = cost(word, facts, figures)?;
    Ok(Explanation {
        word: word.to_string(),
        normal: word.normal().to_string(),
        verdict: verdict(word),
        synchronous: synchronous(word),
        tree: tree(word),
        actors: actors(word, &cost),
        cost,
    })
}
