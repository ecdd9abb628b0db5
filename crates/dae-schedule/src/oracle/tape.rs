//! Saving and restoring: one walk over the state that either reads or writes, so the two cannot come apart.

use super::dice::dice;
use super::rule::Rule;

/// What was saved does not belong to this word and model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the saved state is not one of this word and model: it ends, or goes on, where it should not; begin anew"
)]
pub struct Torn;

/// Numbers in the order the state is walked; how many they are follows from word and model, but for a few counts.
#[derive(Default)]
pub(super) struct Tape {
    numbers: Vec<u64>,
    /// Where it is read, if it is.
    at: Option<usize>,
    torn: bool,
}

impl Tape {
    /// A tape of that label to read from.
    pub(super) fn play(label: u64, mut numbers: Vec<u64>) -> Result<Self, Torn> {
        let sum = numbers.pop().ok_or(Torn)?;
        if sum == hash(label, &numbers) { Ok(Self { numbers, at: Some(0), torn: false }) } else { Err(Torn) }
    }

    /// What was written, with a sum over it and the label, so that what changed on the way is told.
    pub(super) fn recorded(self, label: u64) -> Vec<u64> {
        let sum = hash(label, &self.numbers);
        [self.numbers, vec![sum]].concat()
    }

    /// Whether all that was played was there, and no more.
    pub(super) fn ended_well(&self) -> Result<(), Torn> {
        if self.torn || self.at != Some(self.numbers.len()) { Err(Torn) } else { Ok(()) }
    }

    pub(super) fn is_playing(&self) -> bool {
        self.at.is_some()
    }

    pub(super) fn number(&mut self, number: &mut u64) {
        match &mut self.at {
            None => self.numbers.push(*number),
            Some(at) => match self.numbers.get(*at) {
                Some(read) => (*number, *at) = (*read, *at + 1),
                None => self.torn = true,
            },
        }
    }

    pub(super) fn flag(&mut self, flag: &mut bool) {
        let mut number = u64::from(*flag);
        self.number(&mut number);
        *flag = number != 0;
    }

    pub(super) fn float(&mut self, float: &mut f64) {
        let mut bits = float.to_bits();
        self.number(&mut bits);
        *float = f64::from_bits(bits);
    }

    pub(super) fn floats(&mut self, floats: &mut [f32]) {
        for float in floats {
            let mut bits = u64::from(float.to_bits());
            self.number(&mut bits);
            *float = f32::from_bits(bits as u32);
        }
    }

    /// A list of up to `most` that are like `blank`.
    pub(super) fn list<T: Clone>(
        &mut self,
        most: usize,
        list: &mut Vec<T>,
        blank: T,
        mut each: impl FnMut(&mut Self, &mut T),
    ) {
        let mut length = list.len() as u64;
        self.number(&mut length);
        if length > most as u64 {
            self.torn = true;
            return;
        }
        list.resize(length as usize, blank);
        list.iter_mut().for_each(|item| each(self, item));
    }

    /// Something that may not be there.
    pub(super) fn maybe<T>(
        &mut self,
        maybe: &mut Option<T>,
        blank: impl FnOnce() -> T,
        each: impl FnOnce(&mut Self, &mut T),
    ) {
        let mut there = maybe.is_some();
        self.flag(&mut there);
        if self.is_playing() {
            *maybe = there.then(blank);
        }
        if let Some(item) = maybe {
            each(self, item);
        }
    }

    pub(super) fn rule(&mut self, rule: &mut Rule) {
        let (steps, buffers) = rule.state();
        self.number(steps);
        buffers.into_iter().for_each(|buffer| self.floats(buffer));
    }
}

fn hash(label: u64, numbers: &[u64]) -> u64 {
    numbers.iter().fold(dice(label, 0, 0), |sum, number| dice(sum, *number, 1))
}
