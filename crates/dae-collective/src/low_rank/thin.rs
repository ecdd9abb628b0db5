//! Products with thin matrices. All matrices lie row by row; thin ones have `rank` columns, and none of the loops below
//! goes over a wide one more than once.

/// What is left of a column at less than this share of its length is rounding.
const NOTHING: f64 = 1e-6;

/// Thin matrices to begin with, the same everywhere: any numbers without a pattern do, here splitmix64's.
pub(super) fn start(len: usize) -> Vec<f32> {
    (0..len as u64).map(number).collect()
}

/// Between -1 and 1.
fn number(n: u64) -> f32 {
    let mut z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// `left = wide * right`.
pub(super) fn product(rank: usize, wide: &[f32], right: &[f32], left: &mut [f32]) {
    let cols = right.len() / rank;
    for (row, left) in wide.chunks_exact(cols).zip(left.chunks_exact_mut(rank)) {
        left.fill(0.0);
        for (x, right) in row.iter().zip(right.chunks_exact(rank)) {
            left.iter_mut().zip(right).for_each(|(sum, r)| *sum += x * r);
        }
    }
}

/// `right = transposed wide * left`.
pub(super) fn transposed_product(rank: usize, wide: &[f32], left: &[f32], right: &mut [f32]) {
    let cols = right.len() / rank;
    right.fill(0.0);
    for (row, left) in wide.chunks_exact(cols).zip(left.chunks_exact(rank)) {
        for (x, right) in row.iter().zip(right.chunks_exact_mut(rank)) {
            right.iter_mut().zip(left).for_each(|(sum, l)| *sum += x * l);
        }
    }
}

/// For each element of `left * transposed right`, with the one of `wide` at its place.
pub(super) fn expand(
    rank: usize,
    left: &[f32],
    right: &[f32],
    wide: &mut [f32],
    mut each: impl FnMut(&mut f32, f32),
) {
    let cols = right.len() / rank;
    for (row, left) in wide.chunks_exact_mut(cols).zip(left.chunks_exact(rank)) {
        for (x, right) in row.iter_mut().zip(right.chunks_exact(rank)) {
            each(x, left.iter().zip(right).map(|(l, r)| l * r).sum());
        }
    }
}

/// Puts the columns at right angles to each other, each of length 1, by Gram and Schmidt, twice: where little is left of a
/// column, rounding has turned it. One that lies in those before becomes 0. Numbers that are not finite stay so.
pub(super) fn at_right_angles(rank: usize, thin: &mut [f32]) {
    for k in 0..rank {
        let before = dot(rank, thin, k, k);
        for earlier in (0..k).chain(0..k) {
            let along = dot(rank, thin, earlier, k);
            thin.chunks_exact_mut(rank).for_each(|row| row[k] -= (along * f64::from(row[earlier])) as f32);
        }
        let after = dot(rank, thin, k, k);
        let factor = if after <= NOTHING * NOTHING * before { 0.0 } else { after.sqrt().recip() };
        thin.chunks_exact_mut(rank).for_each(|row| row[k] = (f64::from(row[k]) * factor) as f32);
    }
}

fn dot(rank: usize, thin: &[f32], a: usize, b: usize) -> f64 {
    thin.chunks_exact(rank).map(|row| f64::from(row[a]) * f64::from(row[b])).sum()
}

/// A column of zeros would stay one for ever: it begins anew.
pub(super) fn revive(rank: usize, thin: &mut [f32]) {
    for k in 0..rank {
        if thin.chunks_exact(rank).all(|row| row[k] == 0.0) {
            (0..)
                .zip(thin.chunks_exact_mut(rank))
                .for_each(|(n, row)| row[k] = number(n * rank as u64 + k as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_come_to_right_angles(rank in 1usize..5, rows in 1usize..40) {
            let mut thin = start(rank * rows);
            at_right_angles(rank, &mut thin);
            for (a, b) in (0..rank).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let due = if a == b && a < rows { 1.0 } else { 0.0 };
                prop_assert!((dot(rank, &thin, a, b) - due).abs() < 1e-3, "{} {}", a, b);
            }
        }
    }

    #[test]
    fn products_are_those_of_the_book() {
        // Two rows, three columns, times three rows of two.
        let (wide, right) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, -1.0, 0.0, 2.0, 2.0, 0.0]);
        let mut left = [9.0; 4];
        product(2, &wide, &right, &mut left);
        assert_eq!(left, [7.0, 3.0, 16.0, 6.0]);
        let mut back = [9.0; 6];
        transposed_product(2, &wide, &left, &mut back);
        assert_eq!(back, [71.0, 27.0, 94.0, 36.0, 117.0, 45.0]);
        let mut all = [9.0; 6];
        expand(2, &left, &right, &mut all, |x, product| *x = product);
        assert_eq!(all, [4.0, 6.0, 14.0, 10.0, 12.0, 32.0]);
    }

    #[test]
    fn a_column_within_others_is_dropped_and_begins_anew() {
        let mut thin = [1.0, 2.0, 3.0, 6.0, 5.0, 10.0];
        at_right_angles(2, &mut thin);
        assert!(thin.chunks_exact(2).all(|row| row[0] > 0.0 && row[1] == 0.0), "{thin:?}");
        revive(2, &mut thin);
        assert!(thin.chunks_exact(2).all(|row| row[0] > 0.0 && row[1] != 0.0), "{thin:?}");
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut thin = [1.0, bad, 3.0];
            at_right_angles(1, &mut thin);
            assert!(thin.iter().any(|x| x.is_nan()), "{thin:?}");
        }
    }
}
