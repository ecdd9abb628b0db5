//! The nearest counts that multiply to what there is.

use crate::read::MAX_COUNT;

/// For each count one instead of it, so that all multiply to `target` and change as little as can be.
///
/// How much a count changes is the absolute logarithm of the quotient. Nothing if no word could have so many.
pub(super) fn nearest(counts: &[u32], target: u32) -> Option<Vec<u32>> {
    if target == 0 || target > MAX_COUNT {
        return None;
    }
    let divisors: Vec<u32> = (1..=target).filter(|divisor| target.is_multiple_of(*divisor)).collect();
    // For each divisor d: the least change with which the counts so far multiply to d, and the last of them.
    let mut rows: Vec<Vec<(f64, u32)>> = Vec::new();
    let change = |from: u32, to: u32| (f64::from(from).ln() - f64::from(to).ln()).abs();
    for count in counts {
        let row = divisors.iter().map(|product| {
            let ways = divisors.iter().filter(|last| product.is_multiple_of(**last)).map(|last| {
                let before = match rows.last() {
                    None => {
                        if last == product {
                            0.0
                        } else {
                            f64::INFINITY
                        }
                    }
                    Some(row) => at(&divisors, product / last).map_or(f64::INFINITY, |place| row[place].0),
                };
                (before + change(*count, *last), *last)
            });
            ways.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, 1))
        });
        let row = row.collect();
        rows.push(row);
    }
    let mut left = target;
    let mut found = Vec::new();
    for row in rows.iter().rev() {
        let (change, last) = row[at(&divisors, left)?];
        if !change.is_finite() {
            return None;
        }
        found.push(last);
        left /= last;
    }
    found.reverse();
    (left == 1).then_some(found)
}

fn at(divisors: &[u32], divisor: u32) -> Option<usize> {
    divisors.binary_search(&divisor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_as_little_as_can_be() {
        assert_eq!(nearest(&[4, 8], 16), Some(vec![4, 4]));
        assert_eq!(nearest(&[3, 5], 16), Some(vec![4, 4]));
        assert_eq!(nearest(&[4], 7), Some(vec![7]));
        assert_eq!(nearest(&[], 2), None);
        assert_eq!(nearest(&[2, 2], 0), None);
    }

    proptest! {
        #[test]
        fn they_multiply_to_the_target(counts in prop::collection::vec(1..60_u32, 1..6), target in 1..5000_u32) {
            let found = nearest(&counts, target).unwrap();
            prop_assert_eq!(found.len(), counts.len());
            prop_assert_eq!(found.iter().product::<u32>(), target);
            if counts.iter().product::<u32>() == target {
                prop_assert_eq!(found, counts);
            }
        }
    }
}
