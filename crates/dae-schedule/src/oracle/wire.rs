//! What is lost on the way, and kept: codecs by what arrives, not by their bytes.

use std::ops::Range;

use super::tape::Tape;
use crate::wire::Wire;

/// Numbers of one scale in `int8` and `int4`.
const BLOCK: usize = 512;

/// What a sender has not sent yet (error feedback; Karimireddy et al. 2019).
#[derive(Clone, Debug)]
pub(super) struct Residual(Vec<f32>);

impl Residual {
    pub(super) fn new(parameters: usize) -> Self {
        Self(vec![0.0; parameters])
    }

    /// What arrives of the `numbers` of a part of the parameters; what is lost of them is added to what is sent next.
    /// The numbers that arrive and those that are kept add up exactly to those there were, residual included.
    pub(super) fn send(&mut self, wire: Wire, part: Range<usize>, numbers: &[f32]) -> Vec<f32> {
        if wire == Wire::F32 {
            return numbers.to_vec();
        }
        let kept = &mut self.0[part];
        kept.iter_mut().zip(numbers).for_each(|(kept, x)| *kept += x);
        let sent = arrives(wire, kept);
        kept.iter_mut().zip(&sent).for_each(|(kept, sent)| *kept -= sent);
        if mutated!(LostResidual) {
            kept.fill(0.0);
        }
        sent
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        if !mutated!(UnsavedResidual) {
            tape.floats(&mut self.0);
        }
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> &[f32] {
        &self.0
    }
}

/// What a receiver reads.
fn arrives(wire: Wire, numbers: &[f32]) -> Vec<f32> {
    match wire {
        // Low-rank factors need the shapes of matrices, which flat parameters do not have; such words are refused.
        Wire::F32 | Wire::PowerSgd(_) => numbers.to_vec(),
        Wire::Bf16 => numbers.iter().map(|x| rounded(*x, 8, -126, f32::from_bits(0x7f7f_0000))).collect(),
        Wire::F16 => numbers.iter().map(|x| rounded(*x, 11, -14, 65504.0)).collect(),
        Wire::Int8 => whole(numbers, 127.0),
        Wire::Int4 => whole(numbers, 7.0),
        Wire::TopK(fraction) => largest(numbers, fraction),
    }
}

/// The nearest number of so many binary digits, ties to even; at most `most`, the rest is kept.
fn rounded(x: f32, digits: i32, least_exponent: i32, most: f32) -> f32 {
    let x = x.clamp(-most, most);
    let exponent = ((f64::from(x).to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let unit = 2_f64.powi(exponent.max(least_exponent) - digits + 1);
    ((f64::from(x) / unit).round_ties_even() * unit) as f32
}

/// Whole numbers up to `most`, of a scale for each block.
fn whole(numbers: &[f32], most: f32) -> Vec<f32> {
    let block = |block: &[f32]| {
        let scale = block.iter().fold(0.0_f32, |top, x| top.max(x.abs())) / most;
        let read = move |x: &f32| {
            // As a whole number it has no sign where it is 0.
            let whole =
                if scale == 0.0 { 0.0 } else { (x / scale).round_ties_even().clamp(-most, most) + 0.0 };
            whole * scale
        };
        block.iter().map(read).collect::<Vec<_>>()
    };
    numbers.chunks(BLOCK).flat_map(block).collect()
}

/// The largest, as they are, at least one of them, and of equals the first; zeros for the others.
fn largest(numbers: &[f32], fraction: f32) -> Vec<f32> {
    let many = (f64::from(fraction) * numbers.len() as f64).round() as usize;
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*b].abs().total_cmp(&numbers[*a].abs()));
    let mut sent = vec![0.0; numbers.len()];
    order.iter().take(many.max(1)).for_each(|at| sent[*at] = numbers[*at]);
    sent
}
