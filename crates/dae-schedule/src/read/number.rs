//! Reads counts and numbers within their bounds.

use crate::print::Shortest;
use crate::problem::{BAD_VALUE, Problem, TOO_MANY};
use crate::read::parse::MAX_COUNT;
use crate::read::token::{Text, shown};

/// What a number must satisfy; every one must be finite besides.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Positive,
    NotNegative,
    /// At least 0 and below 1: a momentum or a decay rate.
    Fraction,
    /// From 0 to 1, both included: a share.
    Share,
    /// Above 0 and at most 1: a part that is not nothing.
    Part,
    /// At least 1: how many times.
    Times,
    /// Any.
    Finite,
}

impl Bound {
    fn holds(self, value: f32) -> bool {
        value.is_finite()
            && match self {
                Self::Positive => value > 0.0,
                Self::NotNegative => value >= 0.0,
                Self::Fraction => (0.0..1.0).contains(&value),
                Self::Share => (0.0..=1.0).contains(&value),
                Self::Part => value > 0.0 && value <= 1.0,
                Self::Times => value >= 1.0,
                Self::Finite => true,
            }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Positive => "above 0",
            Self::NotNegative => "at least 0",
            Self::Fraction => "at least 0 and below 1",
            Self::Share => "from 0 to 1",
            Self::Part => "above 0 and at most 1",
            Self::Times => "of at least 1",
            Self::Finite => "of any size",
        }
    }
}

/// Reads the 32-bit number called `name`.
pub(crate) fn number(
    name: &str,
    text: &Text<'_>,
    bound: Bound,
    example: f32,
    problems: &mut Vec<Problem>,
) -> Option<f32> {
    let parsed = if text.is_number() { text.text.parse::<f32>().ok() } else { None };
    let message = match parsed {
        // Adding 0 turns -0 into 0, so that equal words print and hash alike.
        Some(value) if bound.holds(value) => return Some(value + 0.0),
        Some(_) => format!(
            "`{name}` must be a finite 32-bit number {}, and `{}` is not",
            bound.words(),
            shown(text.text)
        ),
        None => format!("`{name}` must be a number, and `{}` is none", shown(text.text)),
    };
    let help = format!("write a number {}, for example `{}`", bound.words(), Shortest(example));
    problems.push(Problem::new(BAD_VALUE, text.at.clone(), message, help));
    None
}

/// Reads the count of an `accum` or a `split`: a whole number from 1 to [`MAX_COUNT`].
pub(crate) fn count(op: &str, text: &Text<'_>, problems: &mut Vec<Problem>) -> Option<u32> {
    let written = shown(text.text);
    let digits = text.text.bytes().all(|byte| byte.is_ascii_digit());
    let problem = match text.text.parse::<u32>() {
        Ok(0) => Problem::new(
            BAD_VALUE,
            text.at.clone(),
            format!("`{op} 0` would leave nothing to add up"),
            format!("write `{op} 1` or more, or leave the item out"),
        ),
        Ok(count) if count <= MAX_COUNT => return Some(count),
        Err(_) if !digits => Problem::new(
            BAD_VALUE,
            text.at.clone(),
            format!("`{op}` counts in whole numbers from 1, and `{written}` is none"),
            format!("write a whole number, for example `{op} 4`"),
        ),
        _ => Problem::new(
            TOO_MANY,
            text.at.clone(),
            format!("`{op} {written}` is more than the {MAX_COUNT} a schedule may have"),
            format!("write `{op} {MAX_COUNT}` or less"),
        ),
    };
    problems.push(problem);
    None
}

/// Reads a whole number called `name` from `least` to `most`.
pub(crate) fn whole(
    name: &str,
    text: &Text<'_>,
    (least, most): (u64, u64),
    problems: &mut Vec<Problem>,
) -> Option<u64> {
    let digits = text.text.bytes().all(|byte| byte.is_ascii_digit());
    match text.text.parse::<u64>() {
        Ok(number) if digits && (least..=most).contains(&number) => return Some(number),
        _ => {}
    }
    problems.push(Problem::new(
        BAD_VALUE,
        text.at.clone(),
        format!("`{name}` must be a whole number from {least} to {most}, and `{}` is none", shown(text.text)),
        format!("write such a number, for example `{}`", least.max(4.min(most))),
    ));
    None
}

/// Reads a number of bytes: `65536`, `64KiB`, `4MiB`, `1GiB`.
pub(crate) fn bytes(name: &str, text: &Text<'_>, problems: &mut Vec<Problem>) -> Option<u64> {
    const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];
    let size = UNITS.iter().find_map(|(unit, size)| {
        let digits = text.text.strip_suffix(unit)?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse::<u64>().ok()?.checked_mul(*size) } else { None }
    });
    if let Some(size) = size.filter(|size| *size > 0) {
        return Some(size);
    }
    problems.push(Problem::new(
        BAD_VALUE,
        text.at.clone(),
        format!("`{name}` is a number of bytes, and `{}` is none", shown(text.text)),
        format!("write it with its unit, for example `{name}=4MiB`; the units are KiB, MiB and GiB"),
    ));
    None
}
