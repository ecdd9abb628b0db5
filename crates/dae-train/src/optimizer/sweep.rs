//! The one loop of all optimizers: sum the slots, check, update.

/// Elements a block: its gradient sums (8 KiB) stay in the first-level cache between being summed and being used.
const BLOCK: usize = 2048;

/// The bits of +infinity: as integers, the bits of every finite magnitude lie below.
const INFINITY_BITS: u32 = 0x7f80_0000;

/// Calls `update(gradient, parameter, state)` for every element, the gradient being the sum over slots in rank order
/// times `scale`. Returns whether every gradient was finite.
///
/// It must be inlined into the caller's SIMD dispatch to be compiled for the processor at hand.
///
/// # Panics
/// If `grads`, `params` and `state` are not all of one length.
#[inline(always)]
pub(super) fn sweep<const S: usize>(
    grads: &[&[f32]],
    scale: f32,
    params: &mut [f32],
    state: [&mut [f32]; S],
    update: impl Fn(f32, &mut f32, [&mut f32; S]),
) -> bool {
    let n = params.len();
    assert!(
        grads.iter().all(|g| g.len() == n) && state.iter().all(|s| s.len() == n),
        "gradients, parameters and state are slices of one length"
    );
    let worst = match grads {
        [] => run(n, |_| 0.0, params, state, &update),
        [a] => run(n, |i| a[i] * scale, params, state, &update),
        [a, b] => run(n, |i| (a[i] + b[i]) * scale, params, state, &update),
        [a, b, c] => run(n, |i| (a[i] + b[i] + c[i]) * scale, params, state, &update),
        [a, b, c, d] => run(n, |i| (a[i] + b[i] + c[i] + d[i]) * scale, params, state, &update),
        [first, rest @ ..] => {
            let mut state = state;
            let mut worst = 0;
            let mut sums = [0.0f32; BLOCK];
            for start in (0..n).step_by(BLOCK) {
                let range = start..n.min(start + BLOCK);
                let sums = &mut sums[..range.len()];
                sums.copy_from_slice(&first[range.clone()]);
                for slot in rest {
                    for (sum, g) in sums.iter_mut().zip(&slot[range.clone()]) {
                        *sum += g;
                    }
                }
                let params = &mut params[range.clone()];
                let state = state.each_mut().map(|s| &mut s[range.clone()]);
                worst = worst.max(run(sums.len(), |i| sums[i] * scale, params, state, &update));
            }
            worst
        }
    };
    worst < INFINITY_BITS
}

/// Runs the update over one stretch and returns the bits of the greatest gradient magnitude. Comparing magnitudes as
/// integers keeps the check free of branches, and lets it be vectorised where a float maximum could not be.
#[inline(always)]
fn run<const S: usize>(
    n: usize,
    gradient: impl Fn(usize) -> f32,
    params: &mut [f32],
    mut state: [&mut [f32]; S],
    update: &impl Fn(f32, &mut f32, [&mut f32; S]),
) -> u32 {
    let params = &mut params[..n];
    let mut worst = 0u32;
    for i in 0..n {
        let g = gradient(i);
        worst = worst.max(g.to_bits() & 0x7fff_ffff);
        update(g, &mut params[i], state.each_mut().map(|s| &mut s[i]));
    }
    worst
}
