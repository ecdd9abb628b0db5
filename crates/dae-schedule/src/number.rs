//! Reads counts and numbers within their bounds, and prints numbers so that they read back to the bit.

use std::fmt;

use crate::parse::MAX_COUNT;
use crate::problem::{BAD_VALUE, Problem, TOO_MANY};
use crate::token::{Text, shown};

/// What a number must satisfy; every one must be finite besides.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    Positive,
    NotNegative,
    /// At least 0 and below 1: a momentum or a decay rate.
    Fraction,
}

impl Bound {
    fn holds(self, value: f32) -> bool {
        value.is_finite()
            && match self {
                Self::Positive => value > 0.0,
                Self::NotNegative => value >= 0.0,
                Self::Fraction => (0.0..1.0).contains(&value),
            }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Positive => "above 0",
            Self::NotNegative => "at least 0",
            Self::Fraction => "at least 0 and below 1",
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
    let parsed = if text.is_number() {
        text.text.parse::<f32>().ok()
    } else {
        None
    };
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
    let help = format!(
        "write a number {}, for example `{}`",
        bound.words(),
        Shortest(example)
    );
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

/// Prints a number in its shortest form that reads back to the same bits: `0.9`, `1e-3`, `100`.
///
/// The printed form enters [`crate::Word::hash`], so this rule never changes.
pub(crate) struct Shortest(pub(crate) f32);

impl fmt::Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = format!("{}", self.0);
        let scientific = format!("{:e}", self.0);
        f.write_str(if scientific.len() < plain.len() {
            &scientific
        } else {
            &plain
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shortest_is_short() {
        let printed: Vec<String> = [1e-3, 0.9, 0.999, 0.01, 1.0, 100.0, 1e3, 1e-8, f32::MAX]
            .map(|x| Shortest(x).to_string())
            .into();
        assert_eq!(
            printed,
            [
                "1e-3",
                "0.9",
                "0.999",
                "0.01",
                "1",
                "100",
                "1e3",
                "1e-8",
                "3.4028235e38"
            ]
        );
    }

    proptest! {
        #[test]
        fn shortest_reads_back_to_the_bit(bits in any::<u32>()) {
            let number = f32::from_bits(bits);
            prop_assume!(number.is_finite());
            let back: f32 = Shortest(number).to_string().parse().unwrap();
            prop_assert_eq!(back.to_bits(), bits);
        }
    }
}
