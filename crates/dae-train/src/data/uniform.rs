//! Uniform numbers for the parameters a model starts with.

use super::philox::{Stream, counter, words};

/// Fills `out` with numbers uniform in `[-bound, bound)`, a function of the seed and of `item` (which tensor) alone.
pub fn uniform(seed: u64, item: u64, bound: f32, out: &mut [f32]) {
    let [_, epoch, low, high] = counter(Stream::Initial, 0, item);
    for (index, chunk) in out.chunks_mut(4).enumerate() {
        let words = words(seed, [index as u32, epoch, low, high]);
        for (value, word) in chunk.iter_mut().zip(words) {
            // 24 bits, so that every value is exact in f32.
            let unit = (word >> 8) as f32 / (1 << 24) as f32;
            *value = bound * (2.0 * unit - 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_uniform_and_keyed_by_tensor() {
        let draw = |seed, item| {
            let mut out = vec![0.0; 10_001];
            uniform(seed, item, 0.5, &mut out);
            out
        };
        let (a, b) = (draw(1, 0), draw(1, 1));
        assert_eq!(a, draw(1, 0));
        assert!(a != b && a != draw(2, 0));
        assert!(a.iter().all(|x| (-0.5..0.5).contains(x)));
        let mean = a.iter().sum::<f32>() / a.len() as f32;
        let square = a.iter().map(|x| x * x).sum::<f32>() / a.len() as f32;
        assert!(mean.abs() < 0.01 && (square - 1.0 / 12.0).abs() < 0.005, "{mean} {square}");
    }
}
