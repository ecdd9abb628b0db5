//! Corruption: a clean sample to a noisy one.

use super::philox::{self, BLOCK, Stream};
use super::{normal, simd};

/// The kinds of corruption of denoising autoencoders (Vincent et al., JMLR 11, 2010, section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CorruptionKind {
    /// The noisy sample is the clean one.
    None,
    /// A value becomes 0 with probability `level`.
    Masking,
    /// A value becomes 0 with probability `level / 2`, and 1 with the same probability.
    SaltAndPepper,
    /// Normal noise of standard deviation `level` is added to every value, and the sum clipped to `[0, 1]`.
    Gaussian,
}

/// What is done to each sample before the model sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corruption {
    /// What kind of noise.
    pub kind: CorruptionKind,
    /// How much of it: a probability, or a standard deviation.
    pub level: f32,
    /// Whether each epoch draws its own noise; otherwise a sample is corrupted the same way in all of them.
    pub fresh: bool,
}

impl Corruption {
    /// No corruption at all.
    pub const NONE: Self = Self {
        kind: CorruptionKind::None,
        level: 0.0,
        fresh: false,
    };

    /// Writes the noisy version of `clean` to `noisy`, and to `mask` 1.0 where a value was corrupted
    /// (everywhere, if Gaussian) and 0.0 elsewhere.
    ///
    /// The noise is a function of (seed, epoch, sample, place in the sample) and nothing else, to the bit, on
    /// every instruction set.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn apply(
        &self,
        seed: u64,
        epoch: u64,
        sample: u64,
        clean: &[f32],
        noisy: &mut [f32],
        mask: Option<&mut [f32]>,
    ) {
        let kernel = self.kernel(seed, epoch, sample, clean, noisy, mask);
        simd::arch().dispatch(kernel);
    }

    fn kernel<'a>(
        &self,
        seed: u64,
        epoch: u64,
        sample: u64,
        clean: &'a [f32],
        noisy: &'a mut [f32],
        mask: Option<&'a mut [f32]>,
    ) -> Kernel<'a> {
        assert_eq!(
            clean.len(),
            noisy.len(),
            "a noisy sample is as long as its clean one"
        );
        if let Some(mask) = &mask {
            assert_eq!(clean.len(), mask.len(), "a mask is as long as its sample");
        }
        let epoch = if self.fresh { epoch } else { 0 };
        let counter = philox::counter(Stream::Noise, epoch, sample);
        Kernel {
            what: *self,
            seed,
            counter,
            clean,
            noisy,
            mask,
        }
    }
}

/// The work of [`Corruption::apply`], as a value that can be run under any instruction set.
struct Kernel<'a> {
    what: Corruption,
    seed: u64,
    counter: [u32; 4],
    clean: &'a [f32],
    noisy: &'a mut [f32],
    mask: Option<&'a mut [f32]>,
}

impl pulp::NullaryFnOnce for Kernel<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let level = self.what.level;
        match self.what.kind {
            CorruptionKind::None => {
                self.noisy.copy_from_slice(self.clean);
                self.fill_mask(0.0);
            }
            CorruptionKind::Masking => self.replace(threshold(level), threshold(level)),
            CorruptionKind::SaltAndPepper => self.replace(threshold(level / 2.0), threshold(level)),
            CorruptionKind::Gaussian => {
                self.add_normal(level);
                self.fill_mask(1.0);
            }
        }
    }
}

impl Kernel<'_> {
    /// A value becomes 0 where its draw is below `zero`, else 1 where it is below `any`.
    #[inline(always)]
    fn replace(&mut self, zero: u32, any: u32) {
        let blocks = self.clean.chunks(BLOCK).zip(self.noisy.chunks_mut(BLOCK));
        for (index, (clean, noisy)) in blocks.enumerate() {
            let draws = philox::block(self.seed, self.counter, index as u32).map(|word| word >> 1);
            for ((noisy, clean), draw) in noisy.iter_mut().zip(clean).zip(&draws) {
                let kept = if *draw < any { 1.0 } else { *clean };
                *noisy = if *draw < zero { 0.0 } else { kept };
            }
            if let Some(mask) = &mut self.mask {
                for (mask, draw) in mask[index * BLOCK..].iter_mut().zip(&draws) {
                    *mask = if *draw < any { 1.0 } else { 0.0 };
                }
            }
        }
    }

    #[inline(always)]
    fn add_normal(&mut self, level: f32) {
        let blocks = self.clean.chunks(BLOCK).zip(self.noisy.chunks_mut(BLOCK));
        for (index, (clean, noisy)) in blocks.enumerate() {
            let words = philox::block(self.seed, self.counter, index as u32);
            for ((noisy, clean), word) in noisy.iter_mut().zip(clean).zip(&words) {
                *noisy = (clean + level * normal::deviate(*word)).clamp(0.0, 1.0);
            }
        }
    }

    #[inline(always)]
    fn fill_mask(&mut self, value: f32) {
        if let Some(mask) = &mut self.mask {
            mask.fill(value);
        }
    }
}

/// A draw of 31 bits is below this with probability `level`; 31 and not 32, so that 1.0 has a threshold too.
fn threshold(level: f32) -> u32 {
    const ALL: u32 = 1 << 31;
    ((level * ALL as f32) as u32).min(ALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CorruptionKind::*;

    const N: usize = 100_003;

    fn noise(kind: CorruptionKind, level: f32, clean: f32) -> (Vec<f32>, Vec<f32>) {
        let (mut noisy, mut mask) = (vec![9.0; N], vec![9.0; N]);
        Corruption {
            kind,
            level,
            fresh: true,
        }
        .apply(11, 2, 3, &vec![clean; N], &mut noisy, Some(&mut mask));
        (noisy, mask)
    }

    fn share(values: &[f32], what: f32) -> f64 {
        values.iter().filter(|v| **v == what).count() as f64 / values.len() as f64
    }

    #[test]
    fn a_level_is_the_share_of_values_it_says() {
        for level in [0.0, 0.1, 0.5, 0.9, 1.0] {
            // Five standard deviations of a share of 100,003 values are below 0.8 %; the ends are exact.
            let near = |got: f64, want: f32| {
                (got - f64::from(want)).abs() < 0.008 * f64::from(level * 100.0).min(1.0)
            };
            let (masked, mask) = noise(Masking, level, 0.25);
            assert!(near(share(&masked, 0.0), level) || level == 0.0 && share(&masked, 0.25) == 1.0);
            assert_eq!(share(&masked, 0.0), share(&mask, 1.0));
            assert_eq!(share(&masked, 0.25), share(&mask, 0.0));
            let (salted, mask) = noise(SaltAndPepper, level, 0.25);
            assert!(near(share(&salted, 0.0), level / 2.0) || level == 0.0);
            assert!(near(share(&salted, 1.0), level / 2.0) || level == 0.0);
            assert_eq!(share(&salted, 0.25), share(&mask, 0.0));
        }
        assert_eq!(share(&noise(Masking, 1.0, 0.25).0, 0.0), 1.0);
        assert_eq!(share(&noise(None, 0.7, 0.25).0, 0.25), 1.0);
    }

    #[test]
    fn gaussian_noise_has_its_mean_and_variance_and_is_clipped() {
        let (noisy, mask) = noise(Gaussian, 0.1, 0.5);
        let mean = noisy.iter().map(|x| f64::from(*x)).sum::<f64>() / N as f64;
        let variance = noisy.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / N as f64;
        assert!((mean - 0.5).abs() < 0.0016, "{mean}"); // five standard errors
        assert!((variance - 0.01).abs() < 0.000_23, "{variance}");
        assert_eq!(share(&mask, 1.0), 1.0);
        let (wild, _) = noise(Gaussian, 3.0, 0.5);
        assert!(wild.iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for kind in [None, Masking, SaltAndPepper, Gaussian] {
            for len in [0, 1, 15, 63, 64, 65, 784] {
                let what = Corruption {
                    kind,
                    level: 0.3,
                    fresh: true,
                };
                let clean: Vec<_> = (0..len).map(|i| i as f32 / 800.0).collect();
                let (mut a, mut b) = (vec![0.0; len], vec![0.0; len]);
                let (mut a_mask, mut b_mask) = (a.clone(), b.clone());
                what.apply(1, 2, 3, &clean, &mut a, Some(&mut a_mask));
                pulp::NullaryFnOnce::call(what.kernel(1, 2, 3, &clean, &mut b, Some(&mut b_mask)));
                let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!((bits(&a), bits(&a_mask)), (bits(&b), bits(&b_mask)));
            }
        }
    }

    #[test]
    fn noise_differs_by_seed_epoch_and_sample_and_repeats_only_if_stale() {
        let draw = |seed, epoch, sample, fresh| {
            let mut noisy = vec![0.0; 784];
            let what = Corruption {
                kind: Masking,
                level: 0.5,
                fresh,
            };
            what.apply(seed, epoch, sample, &[1.0; 784], &mut noisy, Option::None);
            noisy
        };
        let draws = [
            (1, 1, 1),
            (2, 1, 1),
            (1, 2, 1),
            (1, 1, 2),
            (1, 0, 1),
            (1, 1, 1 << 33),
        ];
        let all: Vec<_> = draws.iter().map(|(s, e, i)| draw(*s, *e, *i, true)).collect();
        for (i, a) in all.iter().enumerate() {
            for b in &all[..i] {
                let same = a.iter().zip(b).filter(|(x, y)| x == y).count();
                assert!((322..462).contains(&same), "{same} of 784 values agree"); // 392 +- 5 * 14
            }
        }
        assert_eq!(draw(1, 1, 1, false), draw(1, 7, 1, false));
        assert_eq!(draw(1, 1, 1, true), draw(1, 1, 1, true));
    }

    /// Should this fail, checkpoints of older versions no longer resume to the same bits: do not just change
    /// it.
    #[test]
    fn the_noise_of_a_key_is_fixed_for_ever() {
        let draw = |kind| {
            let mut noisy = [0.0; 70];
            Corruption {
                kind,
                level: 0.25,
                fresh: true,
            }
            .apply(42, 1, 7, &[0.5; 70], &mut noisy, Option::None);
            noisy
        };
        let normal = draw(Gaussian);
        assert_eq!(
            [0, 1, 17, 40, 63, 64, 69].map(|i: usize| normal[i]),
            [
                0.3330484, 0.21876043, 0.73368967, 0.6968225, 0.4646182, 0.9097103, 0.8302448
            ]
        );
        let digits = |kind| -> String {
            draw(kind)
                .iter()
                .map(|x| ((x * 2.0) as u8 + b'0') as char)
                .collect()
        };
        assert_eq!(
            digits(Masking),
            "1010101111110111011110011010111110110101101111111111110101011101101101"
        );
        assert_eq!(
            digits(SaltAndPepper),
            "1212101111110111011112011210111110110101121111111111112121011101121121"
        );
    }
}
