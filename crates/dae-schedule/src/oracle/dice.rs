//! Chance that repeats itself.

/// A number that looks random, from a seed and two counters: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)
/// over each in turn.
pub(crate) fn dice(seed: u64, a: u64, b: u64) -> u64 {
    [a, b].iter().fold(mixed(seed), |state, counter| mixed(state ^ counter))
}

/// The same as a number in [0, 1).
pub(super) fn chance(seed: u64, a: u64, b: u64) -> f64 {
    (dice(seed, a, b) >> 11) as f64 / (1_u64 << 53) as f64
}

fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
