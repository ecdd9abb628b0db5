//! [`Wire`]: how numbers travel.

use std::fmt;

use crate::print::Shortest;

/// How the numbers of an exchange travel: `wire=`. All but `f32` lose something, and what is lost is kept at the
/// sender and added to what it sends next (error feedback; Karimireddy et al. 2019).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Wire {
    /// As they are: `f32`, the same as no `wire` at all.
    #[default]
    F32,
    /// 8 bits of exponent, 7 of mantissa: `bf16`.
    Bf16,
    /// IEEE half precision: `f16`.
    F16,
    /// Whole numbers of 8 bits and a scale for each block: `int8`.
    Int8,
    /// Whole numbers of 4 bits and a scale for each block: `int4`.
    Int4,
    /// Only the largest, as a fraction of all in (0, 1]: `topk(f)` (Aji and Heafield 2017).
    TopK(f32),
    /// Matrices as products of two of this rank, at least 1: `powersgd(r)` (Vogels et al. 2019).
    PowerSgd(u32),
}

impl Wire {
    /// Whether two messages can be added without being unpacked, as an all-reduce by a ring does.
    pub fn adds(self) -> bool {
        !matches!(self, Self::Int4 | Self::TopK(_))
    }

    /// Whether what arrives may differ from what was sent, so that there is a residual to keep.
    pub fn loses(self) -> bool {
        self != Self::F32
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::Bf16 => f.write_str("bf16"),
            Self::F16 => f.write_str("f16"),
            Self::Int8 => f.write_str("int8"),
            Self::Int4 => f.write_str("int4"),
            Self::TopK(fraction) => write!(f, "topk({})", Shortest(*fraction)),
            Self::PowerSgd(rank) => write!(f, "powersgd({rank})"),
        }
    }
}
