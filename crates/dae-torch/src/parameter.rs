//! A tensor to train.

/// What a tensor starts as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// Zeros.
    Zeros,
    /// Uniform in `[-bound, bound)`.
    Uniform(f32),
}

/// A tensor to train: its name in checkpoints, its shape, and what it starts as.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Such as `encoder.0.weight`.
    pub name: String,
    /// In PyTorch's order: `[out, in]` for a linear layer, `[out, in, height, width]` for a convolution.
    pub shape: Vec<usize>,
    /// What it starts as.
    pub init: Init,
}

impl Parameter {
    /// A tensor.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<usize>>, init: Init) -> Self {
        Self { name: name.into(), shape: shape.into(), init }
    }

    /// Weight `[out, in]` and bias `[out]` of a linear layer, named `name.weight` and `name.bias`, both uniform within
    /// `1 / sqrt(in)`, as `torch.nn.Linear` starts.
    pub fn linear(name: &str, inputs: usize, outputs: usize) -> [Self; 2] {
        let init = Init::Uniform(1.0 / (inputs as f32).sqrt());
        [
            Self::new(format!("{name}.weight"), [outputs, inputs], init),
            Self::new(format!("{name}.bias"), [outputs], init),
        ]
    }
}
