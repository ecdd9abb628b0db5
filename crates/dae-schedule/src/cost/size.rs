//! Bytes of a vector on the wire.

use super::facts::Facts;
use crate::gradient::Order;
use crate::join::Join;
use crate::wire::Wire;

/// Numbers that share a scale, an f32, in `int8` and `int4`.
const BLOCK: f64 = 512.0;

/// Bytes of all parameters of the model as they travel.
pub(crate) fn packed(wire: Wire, facts: &Facts) -> f64 {
    match wire {
        Wire::PowerSgd(rank) => low_rank(f64::from(rank), facts),
        wire => numbers(wire, facts.params as f64),
    }
}

/// Bytes of what a child of a join pushes: all parameters, each shard or fragment written by itself.
pub(crate) fn pushed(join: &Join, facts: &Facts) -> f64 {
    if let Wire::PowerSgd(_) = join.wire {
        return packed(join.wire, facts);
    }
    let shards = u64::from(join.parts());
    // As equal as can be: so many are longer by one.
    let (each, longer) = (facts.params / shards, facts.params % shards);
    let of = |shards: u64, len: u64| shards as f64 * numbers(join.wire, len as f64);
    of(shards - longer, each) + of(longer, each + 1)
}

/// Bytes of so many numbers.
fn numbers(wire: Wire, n: f64) -> f64 {
    let blocks = 4.0 * (n / BLOCK).ceil();
    match wire {
        Wire::F32 | Wire::PowerSgd(_) => 4.0 * n,
        Wire::Bf16 | Wire::F16 => 2.0 * n,
        Wire::Int8 => n + blocks,
        Wire::Int4 => (n / 2.0).ceil() + blocks,
        // A number and its place for each that is sent, at least one.
        Wire::TopK(fraction) => 8.0 * (f64::from(fraction) * n).round().max(n.min(1.0)),
    }
}

/// Two factors of a rank for each matrix that they make smaller; the others, and vectors, as they are.
fn low_rank(rank: f64, facts: &Facts) -> f64 {
    let saved = |(rows, columns): &(u64, u64)| {
        let (rows, columns) = (*rows as f64, *columns as f64);
        (rows * columns - rank * (rows + columns)).max(0.0)
    };
    let saved: f64 = facts.matrices.iter().map(saved).sum();
    4.0 * (facts.params as f64 - saved).max(0.0)
}

/// Bytes of a vector while its sums grow, and while they spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(crate) reduce: f64,
    pub(crate) gather: f64,
}

impl Vector {
    pub(crate) fn plain(bytes: f64) -> Self {
        Self { reduce: bytes, gather: bytes }
    }

    /// A gradient: sums that do not depend on the order of their terms are whole numbers of 8 bytes.
    pub(crate) fn gradient(wire: Wire, order: Order, facts: &Facts) -> Self {
        let bytes = packed(wire, facts);
        match order {
            Order::Any => Self::plain(bytes),
            Order::Exact => Self { reduce: 8.0 * facts.params as f64, gather: bytes },
        }
    }

    pub(crate) fn sum(self) -> f64 {
        self.reduce + self.gather
    }

    pub(crate) fn part(self, of: f64) -> Self {
        Self { reduce: self.reduce / of, gather: self.gather / of }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_scale() {
        let facts = Facts { matrices: vec![(32, 32)], ..Facts::of_params(1024 + 32, 1) };
        let of = |wire| packed(wire, &facts);
        assert_eq!((of(Wire::F32), of(Wire::Bf16)), (4224.0, 2112.0));
        assert_eq!((of(Wire::Int8), of(Wire::Int4)), (1056.0 + 12.0, 528.0 + 12.0));
        assert_eq!((of(Wire::TopK(0.01)), of(Wire::TopK(0.0102))), (8.0 * 11.0, 8.0 * 11.0));
        assert_eq!(of(Wire::PowerSgd(2)), 4.0 * (2.0 * 64.0 + 32.0));
        assert_eq!(of(Wire::PowerSgd(1000)), 4224.0);
        assert_eq!(packed(Wire::TopK(0.01), &Facts::of_params(3, 1)), 8.0);
        assert_eq!(packed(Wire::TopK(0.01), &Facts::of_params(0, 1)), 0.0);
        let exact = Vector::gradient(Wire::F32, Order::Exact, &facts);
        assert_eq!((exact.reduce, exact.gather), (8448.0, 4224.0));
    }

    #[test]
    fn each_shard_is_written_by_itself() {
        let facts = Facts::of_params(1024 + 32, 1);
        let of = |wire, shards| pushed(&Join { wire, shards, ..Join::new(2) }, &facts);
        assert_eq!((of(Wire::F32, 5), of(Wire::Bf16, 5)), (4224.0, 2112.0));
        // 211, 211, 211, 211 and 212 numbers.
        assert_eq!((of(Wire::Int8, 5), of(Wire::Int8, 1)), (1056.0 + 20.0, 1056.0 + 12.0));
        assert_eq!((of(Wire::TopK(0.0025), 5), of(Wire::TopK(0.0025), 1)), (8.0 * 5.0, 8.0 * 3.0));
        assert_eq!(of(Wire::TopK(0.1), 5000), 8.0 * 1056.0);
    }
}
