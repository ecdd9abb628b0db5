//! The norm of a gradient.

/// Partial sums kept side by side, enough to hide the latency of an addition.
const LANES: usize = 16;

/// The sum of squares of `(g0 + g1 + ...) * scale` over one slice, in f64, in an order that depends on the slice's
/// length alone. It is finite exactly when every gradient element is, so it also answers "may this step be applied?"
/// before anything has been changed.
///
/// # Panics
/// If the slots are not all of one length.
pub fn sum_of_squares(grads: &[&[f32]], scale: f32) -> f64 {
    let Some((first, rest)) = grads.split_first() else {
        return 0.0;
    };
    assert!(
        rest.iter().all(|g| g.len() == first.len()),
        "slots are slices of one length"
    );
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut lanes = [0.0f64; LANES];
            let (groups, tail) = first.as_chunks::<LANES>();
            for (at, group) in groups.iter().enumerate() {
                let mut sums = *group;
                for slot in rest {
                    add(&mut sums, &slot.as_chunks::<LANES>().0[at]);
                }
                add_squares(&mut lanes, &sums, scale);
            }
            // The tail is filled up with zeros, which add nothing.
            let mut sums = [0.0; LANES];
            sums[..tail.len()].copy_from_slice(tail);
            for slot in rest {
                add(&mut sums, slot.as_chunks::<LANES>().1);
            }
            add_squares(&mut lanes, &sums, scale);
            lanes.iter().sum()
        },
    )
}

#[inline(always)]
fn add(sums: &mut [f32; LANES], slot: &[f32]) {
    for (sum, g) in sums.iter_mut().zip(slot) {
        *sum += g;
    }
}

#[inline(always)]
fn add_squares(lanes: &mut [f64; LANES], sums: &[f32; LANES], scale: f32) {
    for (lane, sum) in lanes.iter_mut().zip(sums) {
        let g = f64::from(sum * scale);
        *lane += g * g;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_slots_before_squaring() {
        let (a, b): (Vec<f32>, Vec<f32>) = ((0..37).map(|i| i as f32).collect(), vec![1.0; 37]);
        let expected: f64 = (0..37).map(|i| (f64::from(i) + 1.0) * 0.5).map(|g| g * g).sum();
        assert_eq!(sum_of_squares(&[&a, &b], 0.5), expected);
        assert_eq!(sum_of_squares(&[], 1.0), 0.0);
        assert_eq!(sum_of_squares(&[&[], &[]], 1.0), 0.0);
    }

    #[test]
    fn is_finite_exactly_when_every_element_is() {
        let mut g = vec![f32::MAX; 100];
        assert!(sum_of_squares(&[&g], 1.0).is_finite());
        g[99] = f32::NAN;
        assert!(!sum_of_squares(&[&g], 1.0).is_finite());
        g[99] = f32::NEG_INFINITY;
        assert!(!sum_of_squares(&[&g], 1.0).is_finite());
    }
}
