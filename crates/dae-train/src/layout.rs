//! Where each parameter tensor lies in the flat parameter buffer.

use serde::{Deserialize, Serialize};

/// Every tensor starts at a multiple of this many f32 (64 bytes), so kernels see the same alignment in every run.
pub const ALIGN: usize = 16;

/// One tensor of a model: its name, its shape (PyTorch's order), and its place in the flat buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorSpec {
    /// The name it has in a checkpoint, such as `encoder.0.weight`.
    pub name: String,
    /// Its dimensions; `[out, in]` for a linear layer.
    pub shape: Vec<usize>,
    /// The index of its first element in the flat buffer, a multiple of [`ALIGN`].
    pub offset: usize,
}

impl TensorSpec {
    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// The elements' range in the flat buffer.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.numel()
    }
}

/// The layout of a model: its tensors in order, each aligned, the gaps between them zero for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    tensors: Vec<TensorSpec>,
    len: usize,
}

impl Layout {
    /// Lays the tensors out one after the other.
    pub fn new(tensors: impl IntoIterator<Item = (String, Vec<usize>)>) -> Self {
        let mut offset = 0usize;
        let tensors = tensors
            .into_iter()
            .map(|(name, shape)| {
                let spec = TensorSpec { name, shape, offset };
                offset = (offset + spec.numel()).next_multiple_of(ALIGN);
                spec
            })
            .collect();
        Self { tensors, len: offset }
    }

    /// The tensors, in the model's order.
    pub fn tensors(&self) -> &[TensorSpec] {
        &self.tensors
    }

    /// The length of the flat buffer in f32, padding included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to train.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of parameters, padding excluded.
    pub fn parameters(&self) -> usize {
        self.tensors.iter().map(TensorSpec::numel).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_aligned_and_disjoint() {
        let l = Layout::new([("a".into(), vec![3, 5]), ("b".into(), vec![1]), ("c".into(), vec![16])]);
        let at: Vec<_> = l.tensors().iter().map(|t| t.offset).collect();
        assert_eq!(at, [0, 16, 32]);
        assert_eq!((l.len(), l.parameters()), (48, 32));
    }
}
