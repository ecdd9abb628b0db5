//! Sums that no order changes.

/// The sum of finite numbers as if it were rounded once, to the nearest f64: the same whatever their order.
///
/// It keeps partial sums that do not overlap, each the rounding error of the next, so nothing is lost before the end
/// (Shewchuk 1997; the last rounding is that of Python's `math.fsum`). A runtime that adds whole multiples of a common
/// unit is as free of order; its bits are these where the unit is no larger than the last digit of any term, and may
/// differ in the last digit where a term is many orders of magnitude smaller than the largest.
pub(super) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut x in terms {
        let mut kept = 0;
        for at in 0..partials.len() {
            let (high, low) = two_sum(x, partials[at]);
            if low != 0.0 {
                partials[kept] = low;
                kept += 1;
            }
            x = high;
        }
        partials.truncate(kept);
        partials.push(x);
    }
    let mut total = partials.pop().unwrap_or(0.0);
    while let Some(next) = partials.pop() {
        let (high, low) = two_sum(total, next);
        total = high;
        if low != 0.0 {
            // A tie was broken without knowing what lies below it.
            let below = partials.last().copied().unwrap_or(0.0);
            if low * below > 0.0 && total + 2.0 * low - total == 2.0 * low {
                total += 2.0 * low;
            }
            break;
        }
    }
    total
}

/// A sum as rounded, and its rounding error (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let part = high - a;
    (high, (a - (high - part)) + (b - part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_order_changes_it(
            terms in prop::collection::vec((-60_i32..60, -1.0_f64..1.0), 0..40),
            turn in 0..40_usize,
        ) {
            let mut terms: Vec<f64> = terms.into_iter().map(|(e, x)| x * 2_f64.powi(e)).collect();
            let one = sum(terms.iter().copied());
            terms.sort_by(f64::total_cmp);
            let at = turn.min(terms.len());
            terms.rotate_left(at);
            prop_assert_eq!(one.to_bits(), sum(terms).to_bits());
        }
    }

    #[test]
    fn nothing_is_lost() {
        assert_eq!(sum([1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum([1.0, 2_f64.powi(-53), 2_f64.powi(-80)]), 1.0 + f64::EPSILON);
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([0.1; 10]), 1.0);
    }
}
