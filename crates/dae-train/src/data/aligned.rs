//! A buffer of f32 that starts on a cache line.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// One cache line, and one AVX-512 register: the alignment of every flat buffer.
const ALIGN_BYTES: usize = 64;

/// A fixed number of f32, the first of which lies at a multiple of 64 bytes. It starts as zeros.
///
/// It is a slightly longer `Vec` entered at its first aligned element: the `Vec` never grows, so it never
/// moves.
pub struct AlignedF32 {
    memory: Vec<f32>,
    start: usize,
    len: usize,
}

impl AlignedF32 {
    /// A buffer of `len` zeros.
    pub fn new(len: usize) -> Self {
        let slack = ALIGN_BYTES / size_of::<f32>() - 1;
        let memory = vec![0.0; len + slack];
        let start = memory.as_ptr().align_offset(ALIGN_BYTES).min(slack);
        Self { memory, start, len }
    }
}

impl Deref for AlignedF32 {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedF32 {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl Clone for AlignedF32 {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for AlignedF32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_aligned_and_zero_and_so_is_its_copy() {
        for len in [0, 1, 15, 16, 17, 784, 100_352] {
            let mut a = AlignedF32::new(len);
            assert_eq!(a.len(), len);
            assert!(a.iter().all(|x| *x == 0.0));
            a.fill(0.5);
            let b = a.clone();
            assert_eq!(&a[..], &b[..]);
            for buffer in [&a, &b] {
                assert_eq!(buffer.as_ptr() as usize % ALIGN_BYTES, 0);
            }
        }
    }
}
