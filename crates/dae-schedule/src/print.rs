//! Printing: numbers that read back to the bit, and what an item says besides its name.

use std::fmt;

use crate::place::Place;

/// Prints a number in its shortest form that reads back to the same bits: `0.9`, `1e-3`, `100`.
///
/// The printed form enters [`crate::Word::hash`], so this rule never changes.
pub(crate) struct Shortest(pub(crate) f32);

impl fmt::Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = format!("{}", self.0);
        let scientific = format!("{:e}", self.0);
        f.write_str(if scientific.len() < plain.len() { &scientific } else { &plain })
    }
}

/// The name of a value in its table.
pub(crate) fn name<T: Copy + PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, named)| *named == value).map_or("", |(name, _)| name)
}

/// The count of an item and its place: ` 4 @node`.
pub(crate) fn count(f: &mut fmt::Formatter<'_>, op: &str, n: u32, place: Option<Place>) -> fmt::Result {
    write!(f, "{op} {n}")?;
    place.map_or(Ok(()), |place| write!(f, " {place}"))
}

/// ` name=value`, or nothing where the value is the default.
pub(crate) fn unless_default<T: PartialEq + fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    value: &T,
    default: &T,
) -> fmt::Result {
    if value == default { Ok(()) } else { write!(f, " {name}={value}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shortest_is_short() {
        let printed: Vec<String> =
            [1e-3, 0.9, 0.999, 0.01, 1.0, 100.0, 1e3, 1e-8, f32::MAX].map(|x| Shortest(x).to_string()).into();
        assert_eq!(printed, ["1e-3", "0.9", "0.999", "0.01", "1", "100", "1e3", "1e-8", "3.4028235e38"]);
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
