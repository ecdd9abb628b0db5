//! One byte a number and a scale for each block, in front of it.

/// Numbers of one scale.
const BLOCK: usize = 512;
/// The bytes of a scale.
const SCALE: usize = 4;
/// The largest whole number.
const MOST: f32 = 127.0;
/// Where numbers are one apart: what is added to it is rounded to a whole number, ties to even, and stands in its last
/// byte. Processors have that wherever they have numbers, and without a call for each.
const WHOLE: f32 = 12_582_912.0;

pub(super) fn encoded_len(len: usize) -> usize {
    len + SCALE * len.div_ceil(BLOCK)
}

pub(super) fn encode(numbers: &[f32], residual: &mut [f32], bytes: &mut [u8]) {
    let blocks = numbers.chunks(BLOCK).zip(residual.chunks_mut(BLOCK)).zip(bytes.chunks_mut(SCALE + BLOCK));
    for ((numbers, residual), bytes) in blocks {
        residual.iter_mut().zip(numbers).for_each(|(kept, x)| *kept += x);
        let scale = scale(residual);
        let (front, whole) = bytes.split_at_mut(SCALE);
        front.copy_from_slice(&scale.to_le_bytes());
        for (kept, byte) in residual.iter_mut().zip(whole) {
            // Divided, not multiplied by the inverse: so a number is at most half a scale from what is sent of it, and
            // their difference is exact.
            let whole = (*kept / scale).clamp(-MOST, MOST) + WHOLE;
            *byte = whole.to_bits() as u8;
            *kept -= (whole - WHOLE) * scale;
        }
    }
}

pub(super) fn decode(bytes: &[u8], numbers: &mut [f32]) {
    for (bytes, numbers) in bytes.chunks(SCALE + BLOCK).zip(numbers.chunks_mut(BLOCK)) {
        let Some((front, whole)) = bytes.split_first_chunk() else { continue };
        let scale = f32::from_le_bytes(*front);
        numbers.iter_mut().zip(whole).for_each(|(x, byte)| *x = f32::from(*byte as i8) * scale);
    }
}

/// What one stands for; no number, if one of them is not finite. If all are next to nothing, nothing is sent of them.
fn scale(numbers: &[f32]) -> f32 {
    // Without their sign, numbers are in the order of their bits, and those that are not finite come last.
    let largest = f32::from_bits(numbers.iter().map(|x| x.abs().to_bits()).max().unwrap_or(0));
    match largest / MOST {
        0.0 => 1.0,
        scale if largest.is_finite() => scale,
        _ => f32::NAN,
    }
}
