//! Two bytes a number.

use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use half::{bf16, f16};

/// Numbers written at a time.
const BLOCK: usize = 256;

/// A kind of number in two bytes.
pub(super) trait Half {
    /// The largest that is finite.
    const MOST: f32;

    fn write(from: &[f32], into: &mut [u16]);

    fn read(from: &[u16], into: &mut [f32]);
}

impl Half for bf16 {
    const MOST: f32 = f32::from_bits(0x7f7f_0000);

    fn write(from: &[f32], into: &mut [u16]) {
        from.iter().zip(into).for_each(|(x, bits)| *bits = Self::from_f32(*x).to_bits());
    }

    fn read(from: &[u16], into: &mut [f32]) {
        from.iter().zip(into).for_each(|(bits, x)| *x = f32::from_bits(u32::from(*bits) << 16));
    }
}

impl Half for f16 {
    const MOST: f32 = 65504.0;

    // Processors have instructions for this one; for a slice, they are asked once.
    fn write(from: &[f32], into: &mut [u16]) {
        into.reinterpret_cast_mut::<Self>().convert_from_f32_slice(from);
    }

    fn read(from: &[u16], into: &mut [f32]) {
        from.reinterpret_cast::<Self>().convert_to_f32_slice(into);
    }
}

pub(super) fn encode<H: Half>(numbers: &[f32], residual: &mut [f32], bytes: &mut [u8]) {
    let (mut halves, mut sent) = ([0; BLOCK], [0f32; BLOCK]);
    let blocks = numbers.chunks(BLOCK).zip(residual.chunks_mut(BLOCK)).zip(bytes.chunks_mut(2 * BLOCK));
    for ((numbers, residual), bytes) in blocks {
        let (halves, sent) = (&mut halves[..numbers.len()], &mut sent[..numbers.len()]);
        for ((kept, x), sent) in residual.iter_mut().zip(numbers).zip(&mut *sent) {
            *kept += x;
            *sent = if kept.is_finite() { kept.clamp(-H::MOST, H::MOST) } else { *kept };
        }
        H::write(sent, halves);
        bytes.copy_from_slice(bytemuck::cast_slice(halves));
        H::read(halves, sent);
        residual.iter_mut().zip(sent).for_each(|(kept, sent)| *kept -= *sent);
    }
}

pub(super) fn decode<H: Half>(bytes: &[u8], numbers: &mut [f32]) {
    let mut halves = [0; BLOCK];
    for (bytes, numbers) in bytes.chunks(2 * BLOCK).zip(numbers.chunks_mut(BLOCK)) {
        let halves = &mut halves[..numbers.len()];
        bytemuck::cast_slice_mut(halves).copy_from_slice(bytes);
        H::read(halves, numbers);
    }
}
