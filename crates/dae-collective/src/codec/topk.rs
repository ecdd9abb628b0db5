//! The largest numbers alone: first all their places, rising, in 4 bytes each, then the numbers in the same order.

use super::CodecError;

fn many(fraction: f32, len: usize) -> usize {
    let most = len.min(u32::MAX as usize);
    ((f64::from(fraction) * len as f64).round() as usize).clamp(1.min(most), most)
}

pub(super) fn encoded_len(fraction: f32, len: usize) -> usize {
    8 * many(fraction, len)
}

/// As many as there are bytes for.
pub(super) fn encode(numbers: &[f32], residual: &mut [f32], bytes: &mut [u8]) {
    residual.iter_mut().zip(numbers).for_each(|(kept, x)| *kept += x);
    let (places, values) = bytes.split_at_mut(bytes.len() / 2);
    let slots = places.as_chunks_mut::<4>().0.iter_mut().zip(values.as_chunks_mut::<4>().0);
    let many = slots.len();
    if many == 0 {
        return;
    }
    // Without their sign, numbers are in the order of their bits, and those that are not finite come last.
    let size = |x: f32| x.abs().to_bits();
    let mut sizes: Vec<u32> = residual.iter().map(|x| size(*x)).collect();
    let (_, least, larger) = sizes.select_nth_unstable(residual.len() - many);
    let least = *least;
    // Of those of one size the first go.
    let mut equals = many - larger.iter().filter(|size| **size > least).count();
    let largest = (0..).zip(residual).filter(|(_, kept)| {
        let equal = size(**kept) == least && equals > 0;
        equals -= usize::from(equal);
        equal || size(**kept) > least
    });
    for ((place, value), (n, kept)) in slots.zip(largest) {
        *place = u32::to_le_bytes(n);
        *value = std::mem::take(kept).to_le_bytes();
    }
}

pub(super) fn decode(bytes: &[u8], numbers: &mut [f32]) -> Result<(), CodecError> {
    numbers.fill(0.0);
    let (places, values) = bytes.split_at(bytes.len() / 2);
    let (len, mut before) = (numbers.len(), None);
    for (place, value) in places.as_chunks().0.iter().zip(values.as_chunks().0) {
        let index = u32::from_le_bytes(*place) as usize;
        match numbers.get_mut(index) {
            Some(x) if before.is_none_or(|before| before < index) => *x = f32::from_le_bytes(*value),
            _ => return Err(CodecError::Index { index, len, before }),
        }
        before = Some(index);
    }
    Ok(())
}
