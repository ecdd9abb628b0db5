//! Sums that do not depend on the order of their terms.
//!
//! Floating-point addition rounds each time, so `(a + b) + c` and `a + (b + c)` differ, and with them the bits of a run
//! dealt to two workers and to three. Integers do not round: here each gradient is made a whole multiple of a common
//! power of two, and the multiples are added as 64-bit integers. The same terms give the same bits then, in whatever
//! order, grouping or place they are added (the idea: Demmel and Nguyen, "Parallel reproducible summation", 2015).

/// The binary point of an order-free sum: a number x is held as the integer nearest to x * 2^shift.
///
/// A step's scale follows from the largest magnitude among the terms of the step before, and from those of this step
/// if it proves unfit, so it depends on the set of terms alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale(Option<i16>);

/// Adding this to an f64 below 2^51 in magnitude leaves its nearest integer in the low bits.
const MAGIC: f64 = (3_u64 << 51) as f64;
/// The most bits of one term.
const TERM_BITS: i32 = 50;
/// What terms may grow by, as a power of two, before their scale does not fit any more.
const GROWTH_BITS: i32 = 6;
/// The fewest bits of the largest term; an f32 has 24.
const FEWEST_BITS: i32 = 32;

impl Scale {
    /// Of no sum yet: it fits no terms but zeros.
    pub const UNKNOWN: Self = Self(None);

    /// What fits `terms` numbers whose largest magnitude is `peak`, which is finite, with room to grow.
    pub fn for_peak(peak: f32, terms: usize) -> Self {
        if peak == 0.0 {
            return Self::UNKNOWN;
        }
        Self(Some((most_bits(terms) - GROWTH_BITS - exponent(peak)) as i16))
    }

    /// Whether `terms` numbers of this largest magnitude can be added at this scale, without overflow and finely
    /// enough; never if one of them is not finite.
    pub fn fits(self, peak: f32, terms: usize) -> bool {
        match self.0 {
            _ if peak == 0.0 => true,
            Some(shift) if peak.is_finite() => {
                let bits = exponent(peak) + i32::from(shift);
                (FEWEST_BITS..=most_bits(terms)).contains(&bits)
            }
            _ => false,
        }
    }

    /// What follows a step whose terms were of this largest magnitude; a step of zeros tells nothing.
    pub fn after(self, peak: f32, terms: usize) -> Self {
        if peak == 0.0 { self } else { Self::for_peak(peak, terms) }
    }

    /// As a number, for files and atomics.
    pub fn to_number(self) -> i32 {
        self.0.map_or(i32::MIN, i32::from)
    }

    /// From [`Scale::to_number`]; what is no scale is [`Scale::UNKNOWN`].
    pub fn from_number(number: i32) -> Self {
        Self(i16::try_from(number).ok().filter(|shift| shift.unsigned_abs() <= 400))
    }

    fn factor(self) -> f64 {
        2_f64.powi(self.0.unwrap_or_default().into())
    }

    /// Adds `terms` to `sums`, or overwrites these with them if `first`. Returns the largest magnitude of the terms:
    /// only where it [`fits`](Self::fits) have the sums a meaning. One that is not finite comes back as such.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn fold(self, first: bool, terms: &[f32], sums: &mut [i64]) -> f32 {
        assert_eq!(terms.len(), sums.len(), "as many sums as terms");
        let factor = self.factor();
        let peak = pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut peak = 0;
                for (term, sum) in terms.iter().zip(&mut *sums) {
                    peak = peak.max(term.to_bits() & 0x7fff_ffff);
                    let bits = (f64::from(*term) * factor + MAGIC).to_bits() as i64;
                    let integer = bits.wrapping_sub(MAGIC.to_bits() as i64);
                    *sum = if first { integer } else { sum.wrapping_add(integer) };
                }
                peak
            },
        );
        f32::from_bits(peak)
    }

    /// The sum over slots of each place, as the nearest f32.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn total(self, slots: &[&[i64]], into: &mut [f32]) {
        let factor = self.factor().recip();
        assert!(slots.iter().all(|slot| slot.len() == into.len()), "slots of one length");
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || match slots {
                [a] => into.iter_mut().zip(*a).for_each(|(t, a)| *t = (*a as f64 * factor) as f32),
                [a, b] => {
                    for ((t, a), b) in into.iter_mut().zip(*a).zip(*b) {
                        *t = (a.wrapping_add(*b) as f64 * factor) as f32;
                    }
                }
                many => {
                    for (at, total) in into.iter_mut().enumerate() {
                        let sum = many.iter().fold(0_i64, |sum, slot| sum.wrapping_add(slot[at]));
                        *total = (sum as f64 * factor) as f32;
                    }
                }
            },
        );
    }
}

/// The largest magnitude of these numbers; one that is not finite, if there is one.
pub fn peak(numbers: &[f32]) -> f32 {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        // Without their sign, numbers are in the order of their bits, and those that are not finite come last.
        || f32::from_bits(numbers.iter().fold(0, |peak, x| peak.max(x.to_bits() & 0x7fff_ffff))),
    )
}

/// The larger of two magnitudes; one that is not finite is kept.
pub fn larger(a: f32, b: f32) -> f32 {
    if a.is_nan() || b <= a { a } else { b }
}

/// The unit for [`exact_sum_of_squares`] of `count` numbers of which none is larger than `most`.
pub fn unit_of_squares(most: f64, count: usize) -> i32 {
    let each = if most > 0.0 { most.log2().ceil() as i32 } else { 0 };
    let sum = count.max(1).next_power_of_two().trailing_zeros() as i32;
    (120 - 2 * each - sum).min(900)
}

/// The sum of squares of numbers times `scale`, in units of 2^-`unit`: whatever the order and the grouping, the same.
///
/// `unit` has to leave room ([`unit_of_squares`]): the sum of all squares stays below 2^(126 - unit).
pub fn exact_sum_of_squares(numbers: &[f32], scale: f32, unit: i32) -> i128 {
    let factor = 2_f64.powi(unit);
    let square = |x: &f32| {
        let x = f64::from(x * scale);
        (x * x * factor).round_ties_even() as i128
    };
    numbers.iter().map(square).fold(0, i128::wrapping_add)
}

/// The smallest e with |x| < 2^e, for a finite x other than 0.
fn exponent(x: f32) -> i32 {
    // A subnormal number is normal as an f64.
    ((f64::from(x).to_bits() >> 52) & 0x7ff) as i32 - 1022
}

/// The most bits a term may have so that the sum of so many stays within 63.
fn most_bits(terms: usize) -> i32 {
    let sum = terms.max(1).next_power_of_two().trailing_zeros() as i32;
    TERM_BITS.min(62 - sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Terms of very different sizes, such as gradients are.
    fn term() -> impl Strategy<Value = f32> {
        (-30_i32..8, -1.0_f32..1.0).prop_map(|(e, x)| x * 2_f32.powi(e))
    }

    fn peak(terms: &[Vec<f32>]) -> f32 {
        terms.iter().flatten().fold(0.0, |peak, x| peak.max(x.abs()))
    }

    proptest! {
        #[test]
        fn any_order_and_grouping_gives_the_same_bits(
            terms in prop::collection::vec(prop::collection::vec(term(), 5), 1..40),
            order in any::<u64>(),
            groups in 1_usize..8,
        ) {
            let scale = Scale::for_peak(peak(&terms), terms.len());
            prop_assert!(scale.fits(peak(&terms), terms.len()) || peak(&terms) == 0.0);
            let sum = |terms: &[Vec<f32>], groups: usize| {
                let mut slots = vec![vec![0_i64; 5]; groups];
                for (n, term) in terms.iter().enumerate() {
                    scale.fold(n < groups, term, &mut slots[n % groups]);
                }
                let mut total = vec![0.0; 5];
                scale.total(&slots.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut total);
                total.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
            };
            let all: Vec<f32> = terms.concat();
            prop_assert_eq!(super::peak(&all), peak(&terms));
            let mut shuffled = terms.clone();
            let mut state = order | 1;
            for n in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                shuffled.swap(n, (state >> 33) as usize % (n + 1));
            }
            prop_assert_eq!(sum(&terms, 1), sum(&shuffled, groups));
        }

        #[test]
        fn it_is_the_sum(terms in prop::collection::vec(term(), 1..300)) {
            let top = terms.iter().fold(0.0_f32, |peak, x| peak.max(x.abs()));
            let scale = Scale::for_peak(top, terms.len());
            let (mut slot, mut total) = ([0], [0.0]);
            for (n, term) in terms.iter().enumerate() {
                let seen = scale.fold(n == 0, &[*term], &mut slot);
                prop_assert_eq!(seen, term.abs());
            }
            scale.total(&[&slot], &mut total);
            let want: f64 = terms.iter().map(|x| f64::from(*x)).sum();
            // Each term is off by half a unit of 2^-43 of the peak at most, the total by half an f32's.
            let off = terms.len() as f64 * f64::from(top) * 2_f64.powi(-43);
            prop_assert!((f64::from(total[0]) - want).abs() <= off + want.abs() * 2_f64.powi(-24));
        }

        #[test]
        fn what_fits_does_not_overflow(peak in 1e-30_f32..1e30, growth in 0.0_f32..64.0, terms in 1_usize..100_000) {
            let scale = Scale::for_peak(peak, terms);
            let grown = peak * growth;
            if scale.fits(grown, terms) {
                let mut one = [0];
                scale.fold(true, &[grown], &mut one);
                prop_assert!(one[0].checked_mul(terms as i64).is_some());
                let mut total = [0.0];
                scale.total(&[&one], &mut total);
                prop_assert_eq!(total[0], grown);
            }
            prop_assert!(!scale.fits(peak * 200.0, terms));
            prop_assert!(!scale.fits(peak * 2_f32.powi(-25), terms));
            prop_assert_eq!(Scale::from_number(scale.to_number()), scale);
        }
    }

    #[test]
    fn the_extremes_of_f32_have_a_scale() {
        for x in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1.0] {
            let scale = Scale::for_peak(x, 3);
            assert!(scale.fits(x, 3), "{x}");
            let (mut slot, mut total) = ([0], [0.0]);
            scale.fold(true, &[-x], &mut slot);
            scale.total(&[&slot], &mut total);
            assert_eq!(total, [-x]);
        }
        assert!(Scale::UNKNOWN.fits(0.0, 1) && !Scale::UNKNOWN.fits(1.0, 1));
        assert_eq!(Scale::from_number(i32::MIN), Scale::UNKNOWN);
        assert_eq!(Scale::from_number(99_999), Scale::UNKNOWN);
    }

    #[test]
    fn what_is_not_finite_is_told_and_never_fits() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let told = Scale::for_peak(1.0, 1).fold(true, &[0.5, bad, 1.0], &mut [0; 3]);
            assert!(!told.is_finite() && !super::peak(&[0.5, bad, 1.0]).is_finite());
            assert!(!Scale::for_peak(1.0, 1).fits(told, 1));
        }
    }

    #[test]
    fn squares_add_up_however_they_are_cut() {
        let numbers: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.7).sin()).collect();
        let unit = unit_of_squares(0.5, 1000);
        let whole = exact_sum_of_squares(&numbers, 0.5, unit);
        for cut in [1, 3, 500, 999] {
            let (a, b) = numbers.split_at(cut);
            assert_eq!(exact_sum_of_squares(a, 0.5, unit) + exact_sum_of_squares(b, 0.5, unit), whole);
        }
        let want: f64 = numbers.iter().map(|x| f64::from(x * 0.5).powi(2)).sum();
        assert!((whole as f64 * 2_f64.powi(-unit) - want).abs() < 1e-12);
    }
}
