//! How numbers travel in fewer bytes, with what is lost kept for the next time.
//!
//! | module | what it holds |
//! |---|---|
//! | `halves` | two bytes a number: `bf16`, `f16` |
//! | `int8` | one byte a number and a scale for each block |
//! | `topk` | the largest numbers alone |
mod halves;
mod int8;
mod topk;

use std::fmt;

/// How numbers are written for the wire. How many bytes they take is known from how many they are.
///
/// All but [`Codec::F32`] lose something. What is lost goes into a residual, which is added to the numbers of the next
/// time (error feedback; Karimireddy, Rebjock, Stich, Jaggi, "Error feedback fixes SignSGD and other gradient
/// compression schemes", 2019): what is sent and what is kept are together exactly what was to be sent. A number that is
/// not finite arrives as one that is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Codec {
    /// As they lie in memory.
    #[default]
    F32,
    /// 8 bits of exponent, 7 of mantissa, rounded to nearest, ties to even.
    Bf16,
    /// IEEE half precision, rounded likewise. Beyond 65504 the rest is kept: gradients are sums over samples, so this is
    /// for small ones.
    F16,
    /// Whole numbers of 8 bits, and the largest number of each 512 over 127 as their scale.
    Int8,
    /// This fraction of the numbers, the largest, at least one (Aji, Heafield, "Sparse communication for distributed
    /// gradient descent", 2017).
    TopK(f32),
}

/// Bytes that say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// More or fewer than such numbers take.
    #[error("{bytes} bytes where {due} were due")]
    Length {
        /// How many there are.
        bytes: usize,
        /// How many there should be.
        due: usize,
    },
    /// A place that is not there, or not after the one before.
    #[error("index {index} of {len} numbers, after {before:?}: indices must rise and be below that")]
    Index {
        /// That place.
        index: usize,
        /// How many places there are.
        len: usize,
        /// The place before.
        before: Option<usize>,
    },
}

impl Codec {
    /// Whether something is lost, so that there is a residual to keep.
    pub fn loses(self) -> bool {
        self != Self::F32
    }

    /// How many bytes so many numbers take.
    pub fn encoded_len(self, len: usize) -> usize {
        match self {
            Self::F32 => 4 * len,
            Self::Bf16 | Self::F16 => 2 * len,
            Self::Int8 => int8::encoded_len(len),
            Self::TopK(fraction) => topk::encoded_len(fraction, len),
        }
    }

    /// Writes numbers and what was kept of those before into `bytes`, in place of what was there, and keeps in
    /// `residual` what is lost; if nothing is lost, it is left alone and may be empty.
    ///
    /// # Panics
    /// If there are not as many residuals as numbers.
    pub fn encode(self, numbers: &[f32], residual: &mut [f32], bytes: &mut Vec<u8>) {
        bytes.resize(self.encoded_len(numbers.len()), 0);
        if self.loses() {
            assert_eq!(numbers.len(), residual.len(), "a residual for each number");
        }
        match self {
            Self::F32 => bytes.copy_from_slice(bytemuck::cast_slice(numbers)),
            Self::Bf16 => halves::encode::<half::bf16>(numbers, residual, bytes),
            Self::F16 => halves::encode::<half::f16>(numbers, residual, bytes),
            Self::Int8 => int8::encode(numbers, residual, bytes),
            Self::TopK(_) => topk::encode(numbers, residual, bytes),
        }
    }

    /// Reads as many numbers as there is room for.
    ///
    /// # Errors
    /// If the bytes are no encoding of so many numbers; what is in `numbers` then is of no meaning.
    pub fn decode(self, bytes: &[u8], numbers: &mut [f32]) -> Result<(), CodecError> {
        let due = self.encoded_len(numbers.len());
        if bytes.len() != due {
            return Err(CodecError::Length { bytes: bytes.len(), due });
        }
        match self {
            Self::F32 => bytemuck::cast_slice_mut(numbers).copy_from_slice(bytes),
            Self::Bf16 => halves::decode::<half::bf16>(bytes, numbers),
            Self::F16 => halves::decode::<half::f16>(bytes, numbers),
            Self::Int8 => int8::decode(bytes, numbers),
            Self::TopK(_) => return topk::decode(bytes, numbers),
        }
        Ok(())
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::Bf16 => f.write_str("bf16"),
            Self::F16 => f.write_str("f16"),
            Self::Int8 => f.write_str("int8"),
            Self::TopK(fraction) => write!(f, "topk({fraction})"),
        }
    }
}

#[cfg(test)]
mod tests;
