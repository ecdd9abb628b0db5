//! Where each parameter tensor lies in the flat parameter buffer.

use serde::{Deserialize, Serialize};

/// Every tensor starts at a multiple of this many f32 (64 bytes), so kernels see the same alignment in every run.
pub const ALIGN: usize = 16;

/// More f32 than any buffer can hold.
const MOST: usize = isize::MAX as usize / size_of::<f32>();

/// A tensor with which a layout is larger than any memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no memory holds the parameters up to `{name}`, whose shape is {shape:?}")]
pub struct TooLarge {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

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
    ///
    /// # Panics
    /// Where [`Layout::try_new`] is an error.
    pub fn new(tensors: impl IntoIterator<Item = (String, Vec<usize>)>) -> Self {
        Self::try_new(tensors).unwrap_or_else(|e| panic!("{e}"))
    }

    /// Lays the tensors out one after the other.
    ///
    /// # Errors
    /// If no memory could hold them.
    pub fn try_new(tensors: impl IntoIterator<Item = (String, Vec<usize>)>) -> Result<Self, TooLarge> {
        let mut layout = Self { tensors: Vec::new(), len: 0 };
        for (name, shape) in tensors {
            let numel = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
            let end = numel.and_then(|n| layout.len.checked_add(n)?.checked_next_multiple_of(ALIGN));
            let Some(len) = end.filter(|len| *len <= MOST) else { return Err(TooLarge { name, shape }) };
            layout.tensors.push(TensorSpec { name, shape, offset: layout.len });
            layout.len = len;
        }
        Ok(layout)
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_aligned_and_disjoint() {
        let l = Layout::new([("a".into(), vec![3, 5]), ("b".into(), vec![1]), ("c".into(), vec![16])]);
        let at: Vec<_> = l.tensors().iter().map(|t| t.offset).collect();
        assert_eq!(at, [0, 16, 32]);
        assert_eq!((l.len(), l.parameters()), (48, 32));
    }

    #[test]
    fn what_no_memory_holds_is_an_error() {
        // The first three wrap to nothing or little where they are multiplied or added unchecked.
        for (a, b) in [
            (vec![1 << 32, 1 << 32], vec![]),
            (vec![usize::MAX, usize::MAX], vec![]),
            (vec![usize::MAX], vec![16]),
            (vec![1 << 60], vec![1 << 60, 2]),
        ] {
            let layout = Layout::try_new([("a".into(), a), ("b".into(), b)]);
            assert!(layout.is_err(), "{layout:?}");
        }
        let error = Layout::try_new([("a".into(), vec![5]), ("b".into(), vec![1 << 62])]).unwrap_err();
        assert_eq!((&error.name[..], &error.shape[..]), ("b", &[1 << 62][..]));
    }
}
