//! Random words as normal deviates, by the inverse of the normal distribution.
//!
//! Wichura: "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37
//! (1988), routine PPND7 (about 7 digits). One word gives one deviate, whatever its neighbours are. Only
//! operations that IEEE 754 rounds in one way are used, and no branches: the bits are the same everywhere,
//! and loops over this become vector code.

/// Words whose distance to either end is below this lie in the tails (15 % of them): 0.075 * 2^32.
const TAIL: u32 = 322_122_547;

const PER_WORD: f32 = 1.0 / 4_294_967_296.0;

/// The deviate of a word; word `x` stands for the probability `(x + 1/2) / 2^32`.
///
/// Both halves of the algorithm are computed and one is taken: cheaper, side by side, than choosing.
#[inline(always)]
pub fn deviate(word: u32) -> f32 {
    let to_nearer_end = word.min(!word);
    // Offset by half the range a word is a signed integer, which every vector unit converts.
    let q = (word ^ 0x8000_0000) as i32 as f32 * PER_WORD;
    let s = 0.180_625 - q * q;
    let centre = q * (((59.109_375 * s + 159.291_13) * s + 50.434_27) * s + 3.387_132_7);
    let under_centre = ((67.187_56 * s + 78.757_76) * s + 17.895_17) * s + 1.0;

    // Below 2^-33 there is no probability, so the paper's third range (r > 5) is never reached.
    let r = (-ln((to_nearer_end as i32 as f32 + 0.5) * PER_WORD)).sqrt() - 1.6;
    let tail = (((0.170_238_21 * r + 1.306_728_5) * r + 2.756_815_4) * r + 1.423_437_3).copysign(q);
    let under_tail = (0.120_211_33 * r + 0.737_001_64) * r + 1.0;

    let (over, under) = if to_nearer_end < TAIL {
        (tail, under_tail)
    } else {
        (centre, under_centre)
    };
    over / under
}

/// The natural logarithm of a positive, normal number, to about 1 unit in the last place.
///
/// Sun's fdlibm in its f32 form (FreeBSD `e_logf.c`), without the special cases: `x = 2^k (1 + f)` with `1 +
/// f` between `sqrt(1/2)` and `sqrt(2)`, then a polynomial in `f / (2 + f)`.
#[inline(always)]
fn ln(x: f32) -> f32 {
    const SQRT_HALF_BITS: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_add(0x3f80_0000 - SQRT_HALF_BITS);
    let k = ((bits >> 23) as i32 - 127) as f32;
    let f = f32::from_bits((bits & 0x007f_ffff) + SQRT_HALF_BITS) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = z * (0.666_666_6 + w * 0.284_987_87);
    let even = w * (0.400_009_72 + w * 0.242_790_79);
    let half_square = 0.5 * f * f;
    s * (half_square + (odd + even)) + k * 9.058_001e-6 - half_square + f + k * 0.693_138_1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed in double precision from `(word + 1/2) / 2^32`.
    #[test]
    fn deviates_are_those_of_the_normal_distribution() {
        let table = [
            (0x8000_0000, 0.0),
            (0xa000_0000, 0.318_639_364),
            (0xe000_0000, 1.150_349_381),
            (0xf000_0000, 1.534_120_545),
            (0xfff0_0000, 3.487_104_232),
            (0xffff_ff00, 5.295_061_352),
            (0x0000_0010, -5.775_260_513),
            (0x1000_0000, -1.534_120_543),
            (0x1333_3332, -1.439_531_472),
            (0x1333_3334, -1.439_531_469),
        ];
        for (word, want) in table {
            let got = f64::from(deviate(word));
            assert!(
                (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                "{word:#x}: {got}, not {want}"
            );
        }
    }

    #[test]
    fn the_ends_are_finite_and_opposite_and_the_whole_is_rising() {
        assert_eq!(deviate(0), -deviate(u32::MAX));
        assert!((deviate(0) + 6.337_958).abs() < 1e-5);
        let mut last = f32::NEG_INFINITY;
        for word in (0..=u32::MAX).step_by(65_537) {
            let z = deviate(word);
            assert!(z >= last - 1e-6, "{word}: {z} after {last}");
            last = z;
        }
    }

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        for word in (0..1u32 << 31).step_by(65_537) {
            let p = (word as f32 + 0.5) * PER_WORD;
            assert!((ln(p) / p.ln() - 1.0).abs() < 3e-7, "{p}");
        }
    }
}
