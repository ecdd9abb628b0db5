//! What a lossy wire has not brought to the centre yet.

use super::Motion;
use dae_collective::{Codec, CodecError};
use std::ops::Range;

/// What was lost of a child's pushes, to be sent with the next (error feedback; Karimireddy et al. 2019).
#[derive(Debug, Clone)]
pub struct Residual {
    codec: Codec,
    kept: Vec<f32>,
    /// The centre as the child pulled it last, which its way is measured from.
    from: Vec<f32>,
}

impl Residual {
    /// Of a child that pushes in this codec, has kept these numbers, and begins from this centre.
    pub fn new(codec: Codec, kept: Vec<f32>, from: Vec<f32>) -> Self {
        Self { codec, kept, from }
    }

    /// Notes what the child has pulled, from this place on.
    ///
    /// # Panics
    /// If there are no parameters there.
    pub fn pulled(&mut self, at: usize, numbers: &[f32]) {
        self.from[at..at + numbers.len()].copy_from_slice(numbers);
    }

    /// Writes a part of a push: the way gone from where the child began, or its raw gradient.
    ///
    /// # Panics
    /// If `motion` is not as long as the part.
    pub fn encode(&mut self, part: Range<usize>, motion: &Motion) -> Vec<u8> {
        let (from, kept, mut bytes) = (&self.from[part.clone()], &mut self.kept[part], Vec::new());
        match motion {
            Motion::Raw(sum) => self.codec.encode(sum, kept, &mut bytes),
            Motion::Value(to) => {
                let way: Vec<f32> = from.iter().zip(to).map(|(from, to)| from - to).collect();
                self.codec.encode(&way, kept, &mut bytes);
            }
        }
        bytes
    }

    /// What is kept.
    pub fn kept(&self) -> &[f32] {
        &self.kept
    }
}

impl Motion {
    /// Reads what [`Residual::encode`] has written for a shard that stood at `from`, of a raw gradient or not.
    ///
    /// # Errors
    /// If the bytes are no encoding of as many numbers.
    pub fn decode(codec: Codec, bytes: &[u8], raw: bool, from: &[f32]) -> Result<Self, CodecError> {
        let mut numbers = vec![0.0; from.len()];
        codec.decode(bytes, &mut numbers)?;
        if raw {
            return Ok(Self::Raw(numbers));
        }
        numbers.iter_mut().zip(from).for_each(|(way, from)| *way = from - *way);
        Ok(Self::Value(numbers))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODECS: [Codec; 4] = [Codec::Bf16, Codec::F16, Codec::Int8, Codec::TopK(0.3)];

    #[test]
    fn what_is_lost_of_one_push_comes_with_the_next() {
        // Only the larger of the two is sent.
        let mut residual = Residual::new(Codec::TopK(0.5), vec![0.0; 2], vec![0.0; 2]);
        residual.pulled(0, &[1.0, 1.0]);
        let mut push = |to: [f32; 2]| {
            let bytes = residual.encode(0..2, &Motion::Value(to.to_vec()));
            let motion = Motion::decode(Codec::TopK(0.5), &bytes, false, &[1.0, 1.0]).unwrap();
            (motion.numbers().to_vec(), residual.kept().to_vec())
        };
        assert_eq!(push([0.0, 0.5]), (vec![0.0, 1.0], vec![0.0, 0.5]));
        assert_eq!(push([0.75, 0.5]), (vec![1.0, 0.0], vec![0.25, 0.0]));
    }

    proptest! {
        #[test]
        fn what_is_read_and_what_is_kept_are_all_there_was(
            sums in prop::collection::vec(prop::collection::vec(-1e3_f32..1e3, 7), 1..6),
            codec in prop::sample::select(&CODECS[..]),
        ) {
            // In two shards, of which each keeps its own.
            let mut residual = Residual::new(codec, vec![0.0; 7], vec![0.0; 7]);
            let mut before = vec![0.0; 7];
            for sum in sums {
                let mut came: Vec<f32> = Vec::new();
                for part in [0..3, 3..7] {
                    let motion = Motion::Raw(sum[part.clone()].to_vec());
                    let bytes = residual.encode(part.clone(), &motion);
                    let zeros = vec![0.0; part.len()];
                    came.extend(Motion::decode(codec, &bytes, true, &zeros).unwrap().numbers());
                }
                for (at, (came, sum)) in came.iter().zip(&sum).enumerate() {
                    prop_assert_eq!(came + residual.kept()[at], sum + before[at]);
                }
                before = residual.kept().to_vec();
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), len in 0..9_usize, raw: bool) {
            for codec in CODECS {
                let read = Motion::decode(codec, &bytes, raw, &vec![0.0; len]);
                prop_assert!(read.is_err() || bytes.len() == codec.encoded_len(len));
            }
        }
    }
}
