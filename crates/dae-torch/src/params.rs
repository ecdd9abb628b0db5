//! A model's tensors by name.

use dae_train::layout::Layout;
use std::collections::HashMap;
use std::ops::Index;
use std::sync::Arc;
use tch::{Device, Kind, Tensor};

/// The tensors of a model, in its order and by name; views of flat memory, so that whoever changes that memory has
/// published new parameters.
pub struct Params {
    tensors: Vec<Tensor>,
    names: Arc<HashMap<String, usize>>,
}

impl Params {
    /// Views of the flat memory at `start`, which holds `layout.len()` f32.
    ///
    /// # Safety
    /// The memory must outlive the views, and is not written to while a computation reads through them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn views(
        start: *const f32,
        layout: &Layout,
        names: Arc<HashMap<String, usize>>,
    ) -> Self {
        let tensors = layout
            .tensors()
            .iter()
            // SAFETY: the layout's tensors lie within the memory; the rest is the caller's duty.
            .map(|t| unsafe { view(start.add(t.offset), &t.shape) })
            .collect();
        Self { tensors, names }
    }

    /// Lets autograd follow what is computed from them.
    pub(crate) fn tracked(self) -> Self {
        let tensors = self.tensors.into_iter().map(|t| t.set_requires_grad(true)).collect();
        Self { tensors, ..self }
    }

    /// The tensors in the order of [`crate::Model::parameters`].
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }
}

impl Index<&str> for Params {
    type Output = Tensor;

    /// The tensor of that name.
    ///
    /// # Panics
    /// If the model declares no such parameter; the message lists those it does.
    fn index(&self, name: &str) -> &Tensor {
        match self.names.get(name) {
            Some(at) => &self.tensors[*at],
            None => {
                let mut known: Vec<_> = self.names.keys().map(String::as_str).collect();
                known.sort_unstable();
                panic!("the model declares no parameter `{name}`; it declares {}", known.join(", "))
            }
        }
    }
}

/// A contiguous f32 tensor over memory.
///
/// # Safety
/// As for [`Params::views`].
#[allow(unsafe_code)]
pub(crate) unsafe fn view(start: *const f32, shape: &[usize]) -> Tensor {
    let size: Vec<i64> = shape.iter().map(|d| *d as i64).collect();
    let mut strides = vec![1; size.len()];
    for i in (0..size.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1] * size[i + 1];
    }
    // SAFETY: the caller's duty.
    unsafe { Tensor::from_blob(start.cast(), &size, &strides, Kind::Float, Device::Cpu) }
}
