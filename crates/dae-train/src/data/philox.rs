//! Philox4x32-10, the counter-based generator under order and noise.
//!
//! Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A word is a pure
//! function of a key and a counter, so any worker computes any word without the ones before it. The lanes are
//! plain loops over arrays: inlined into a function compiled for AVX2 or NEON they become vector code, with
//! the same bits.

/// How many counters are worked on side by side.
pub const LANES: usize = 16;

/// The words [`block`] yields.
pub const BLOCK: usize = 4 * LANES;

/// What a word is drawn for. Uses of one seed never share a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stream {
    /// The order of an epoch.
    Order = 0,
    /// The corruption of a sample.
    Noise = 1,
}

/// The counter of the first word of (stream, epoch, item).
///
/// Epochs repeat after 2^32 and items after 2^56, neither of which a run reaches.
pub fn counter(stream: Stream, epoch: u64, item: u64) -> [u32; 4] {
    [
        0,
        epoch as u32,
        item as u32,
        (item >> 32) as u32 & 0x00ff_ffff | (stream as u32) << 24,
    ]
}

/// The four words of one counter.
#[inline(always)]
pub fn words(seed: u64, counter: [u32; 4]) -> [u32; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
    for _ in 0..10 {
        let left = u64::from(a) * 0xD251_1F53;
        let right = u64::from(c) * 0xCD9E_8D57;
        (a, b) = ((right >> 32) as u32 ^ b ^ k0, right as u32);
        (c, d) = ((left >> 32) as u32 ^ d ^ k1, left as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

/// The words of block `index`: of the 16 counters whose first word is `16 * index` and up.
///
/// The result is word-major: entry `16 * w + l` is word `w` of counter `l`, which spares a transposition.
#[inline(always)]
pub fn block(seed: u64, counter: [u32; 4], index: u32) -> [u32; BLOCK] {
    let [_, epoch, item, last] = counter;
    let first = index.wrapping_mul(LANES as u32);
    let mut out = [0; BLOCK];
    for lane in 0..LANES {
        let [a, b, c, d] = words(seed, [first.wrapping_add(lane as u32), epoch, item, last]);
        out[lane] = a;
        out[LANES + lane] = b;
        out[2 * LANES + lane] = c;
        out[3 * LANES + lane] = d;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kat_vectors` of Random123, the authors' own implementation.
    #[test]
    fn known_answers() {
        let cases = [
            (0, [0; 4], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
            (
                u64::MAX,
                [u32::MAX; 4],
                [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
            ),
            (
                0x299f31d0_a4093822,
                [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
                [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
            ),
        ];
        for (key, counter, want) in cases {
            assert_eq!(words(key, counter), want);
        }
    }

    #[test]
    fn a_block_is_its_counters_one_by_one() {
        let start = counter(Stream::Noise, 3, 1 << 40 | 5);
        let words_of_block = block(7, start, 2);
        for lane in 0..LANES {
            let mut one = start;
            one[0] = 2 * LANES as u32 + lane as u32;
            for (w, word) in words(7, one).into_iter().enumerate() {
                assert_eq!(words_of_block[w * LANES + lane], word);
            }
        }
    }

    #[test]
    fn uses_of_a_seed_never_share_a_counter() {
        let mut seen = std::collections::BTreeSet::new();
        for stream in [Stream::Order, Stream::Noise] {
            for epoch in 0..5 {
                for item in [0, 1, 255, 1 << 24, 1 << 32, 1 << 55] {
                    assert!(seen.insert(counter(stream, epoch, item)));
                }
            }
        }
    }
}
