//! The numbers that are summed, and the loops that sum them.

use bytemuck::Pod;

#[cfg(target_endian = "big")]
compile_error!("numbers travel as they lie in memory, little-endian");

/// Elements summed at a time: they stay in the first-level cache.
const BLOCK: usize = 2048;

/// A number that a collective can sum, and send as it lies in memory.
pub trait Element: Pod + Send {
    /// The sum of two.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

impl Element for f32 {
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// Wraps around: then sums are free of order whatever the numbers are. Who needs the plain sum leaves room for it.
impl Element for i64 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// Sums the terms in their order, in one pass over memory.
///
/// # Panics
/// If a term is shorter than `into`.
pub fn sum<T: Element>(terms: &[&[T]], into: &mut [T]) {
    for start in (0..into.len()).step_by(BLOCK) {
        let range = start..into.len().min(start + BLOCK);
        let total = &mut into[range.clone()];
        for (n, term) in terms.iter().enumerate() {
            match n {
                0 => total.copy_from_slice(&term[range.clone()]),
                _ => add(total, &term[range.clone()]),
            }
        }
    }
}

/// Sums as [`sum`] does: `before`, then `own`, then `after`, all of one length; without an `own`, in place of what is
/// there. `before` is used up.
pub(crate) fn sum_around<T: Element>(
    before: &mut [&mut [T]],
    own: Option<&[T]>,
    after: &[&[T]],
    into: &mut [T],
) {
    for start in (0..into.len()).step_by(BLOCK) {
        let range = start..into.len().min(start + BLOCK);
        let total = &mut into[range.clone()];
        let mut own = own.map(|own| &own[range.clone()]);
        let mut plus = |term: &[T]| match own.take() {
            Some(own) => both(own, term, total),
            None => add(total, term),
        };
        if let Some((first, more)) = before.split_first_mut() {
            let first = &mut first[range.clone()];
            more.iter().for_each(|term| add(first, &term[range.clone()]));
            // Two numbers have one sum in either order.
            plus(first);
        }
        after.iter().for_each(|term| plus(&term[range.clone()]));
        if let Some(own) = own {
            total.copy_from_slice(own);
        }
    }
}

/// Adds two terms.
fn both<T: Element>(a: &[T], b: &[T], total: &mut [T]) {
    total.iter_mut().zip(a).zip(b).for_each(|((t, a), b)| *t = a.plus(*b));
}

/// Adds a term to what is there.
pub(crate) fn add<T: Element>(total: &mut [T], term: &[T]) {
    total.iter_mut().zip(term).for_each(|(t, x)| *t = t.plus(*x));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_order_to_the_bit(terms in 1usize..9, own in 0usize..9, len in 0usize..5000) {
            let own = own % terms;
            let number = |n: usize, i: usize| (1.0 + i as f32 * 0.37) * 1e3f32.powi(n as i32 % 3 - 1) / -3.0;
            let mut all: Vec<Vec<f32>> = (0..terms).map(|n| (0..len).map(|i| number(n, i)).collect()).collect();
            let expected: Vec<u32> =
                (0..len).map(|i| (1..terms).fold(number(0, i), |t, n| t + number(n, i)).to_bits()).collect();
            let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();

            let mut total = vec![f32::NAN; len];
            sum(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut total);
            prop_assert_eq!(bits(&total), &expected[..]);

            let (before, rest) = all.split_at_mut(own);
            let (there, after) = rest.split_first_mut().unwrap();
            let mut before: Vec<_> = before.iter_mut().map(Vec::as_mut_slice).collect();
            let after: Vec<_> = after.iter().map(Vec::as_slice).collect();
            let (mut used_up, mut elsewhere) = (before.iter().map(|b| b.to_vec()).collect::<Vec<_>>(), vec![f32::NAN; len]);
            let mut used_up: Vec<_> = used_up.iter_mut().map(Vec::as_mut_slice).collect();
            sum_around(&mut used_up, Some(there), &after, &mut elsewhere);
            prop_assert_eq!(bits(&elsewhere), &expected[..]);
            sum_around(&mut before, None, &after, there);
            prop_assert_eq!(bits(there), expected);
        }
    }

    #[test]
    fn integers_wrap_around() {
        let mut total = [0];
        sum(&[&[i64::MAX], &[5], &[-6]], &mut total);
        assert_eq!(total, [i64::MAX - 1]);
    }
}
