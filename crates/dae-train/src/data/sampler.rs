//! The order of samples: one global position to an epoch and a sample.

use super::philox::{self, Stream};

/// The rounds of the Feistel network; the order of small sets needs more than the usual four.
const ROUNDS: usize = 8;

/// Which sample lies at each position of the run.
///
/// Epoch `e` takes the positions from `e * samples` on. Its order is a permutation keyed by (seed, epoch),
/// computed for one position at a time and kept nowhere, so resuming at a position needs nothing but the
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampler {
    seed: u64,
    samples: u64,
    shuffle: bool,
}

impl Sampler {
    /// The order of `samples` samples: shuffled anew each epoch, or always 0, 1, 2, and so on.
    pub fn new(seed: u64, samples: usize, shuffle: bool) -> Self {
        Self {
            seed,
            samples: samples as u64,
            shuffle,
        }
    }

    /// The number of samples in an epoch.
    pub fn samples(&self) -> usize {
        self.samples as usize
    }

    /// The epoch and the sample at `position`, counted from the start of the run.
    ///
    /// # Panics
    /// If there are no samples.
    pub fn at(&self, position: u64) -> (u64, usize) {
        assert!(self.samples > 0, "a sampler of no samples was asked for one");
        let (epoch, index) = (position / self.samples, position % self.samples);
        let id = if self.shuffle {
            self.permuted(epoch, index)
        } else {
            index
        };
        (epoch, id as usize)
    }

    /// A Feistel network over the smallest power of two that holds every sample; what falls outside is sent
    /// through again (cycle walking), less than once on average, and so stays a permutation.
    fn permuted(&self, epoch: u64, index: u64) -> u64 {
        let keys = self.round_keys(epoch);
        let bits = u64::BITS - (self.samples - 1).leading_zeros();
        let (low_bits, high_bits) = (bits - bits / 2, bits / 2);
        let (low_mask, high_mask) = ((1u64 << low_bits) - 1, (1u64 << high_bits) - 1);
        let mut id = index;
        loop {
            let (mut low, mut high) = (id & low_mask, id >> low_bits);
            for pair in keys.chunks_exact(2) {
                low ^= u64::from(mix(high as u32 ^ pair[0])) & low_mask;
                high ^= u64::from(mix(low as u32 ^ pair[1])) & high_mask;
            }
            id = high << low_bits | low;
            if id < self.samples {
                return id;
            }
        }
    }

    fn round_keys(&self, epoch: u64) -> [u32; ROUNDS] {
        let mut keys = [0; ROUNDS];
        for (item, four) in keys.chunks_exact_mut(4).enumerate() {
            four.copy_from_slice(&philox::words(
                self.seed,
                philox::counter(Stream::Order, epoch, item as u64),
            ));
        }
        keys
    }
}

/// The finalizer of MurmurHash3 (Appleby): every input bit reaches every output bit.
fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn epoch(sampler: &Sampler, epoch: u64) -> Vec<usize> {
        let n = sampler.samples() as u64;
        (epoch * n..(epoch + 1) * n)
            .map(|position| {
                let (e, id) = sampler.at(position);
                assert_eq!(e, epoch);
                id
            })
            .collect()
    }

    #[test]
    fn every_epoch_is_a_permutation() {
        for n in (1..200).chain([65_536, 60_000, 65_537]) {
            let order = epoch(&Sampler::new(n as u64 * 31, n, true), 2);
            assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), n);
            assert!(order.iter().all(|id| *id < n));
        }
    }

    #[test]
    fn unshuffled_is_in_order() {
        assert_eq!(epoch(&Sampler::new(1, 5, false), 3), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn huge_sets_are_reached_without_a_table() {
        let sampler = Sampler::new(9, usize::MAX, true);
        let ids: BTreeSet<_> = (0..1_000).map(|p| sampler.at(p).1).collect();
        assert_eq!(ids.len(), 1_000);
    }

    #[test]
    fn epochs_and_seeds_give_orders_that_agree_only_by_chance() {
        let n = 1_000;
        let orders =
            [(1, 0), (1, 1), (1, 2), (2, 0), (3, 0)].map(|(seed, e)| epoch(&Sampler::new(seed, n, true), e));
        for (i, a) in orders.iter().enumerate() {
            for b in &orders[..i] {
                let same = a.iter().zip(b).filter(|(x, y)| x == y).count();
                assert!(same < 10, "{same} of {n} samples at the same place"); // 1 is expected
            }
        }
    }

    #[test]
    fn every_sample_comes_first_equally_often() {
        let (n, epochs) = (10, 10_000u64);
        let sampler = Sampler::new(5, n, true);
        let mut first = [0; 10];
        for e in 0..epochs {
            first[sampler.at(e * n as u64).1] += 1;
        }
        // 1,000 each, give or take five standard deviations of 30.
        assert!(first.iter().all(|c| (850..1150).contains(c)), "{first:?}");
    }

    #[test]
    fn the_order_of_a_seed_is_fixed_for_ever() {
        let ids: Vec<_> = (0..8).map(|p| Sampler::new(42, 60_000, true).at(p).1).collect();
        assert_eq!(ids, [34952, 6720, 25089, 5161, 917, 33870, 21016, 42986]);
    }
}
