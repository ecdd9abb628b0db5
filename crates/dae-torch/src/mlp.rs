//! The stock autoencoder: linear layers.

use crate::mlp_pass::MlpPass;
use crate::model::{Memory, Pass};
use crate::{Model, Parameter, Params, ReconstructionLoss, Samples};
use dae_train::topology::ModelSection;
use tch::Tensor;

/// What follows every layer but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// The activation of that name; anything unknown is relu.
    fn named(name: &str) -> Self {
        match name {
            "sigmoid" => Self::Sigmoid,
            "tanh" => Self::Tanh,
            _ => Self::Relu,
        }
    }

    fn of(self, x: &Tensor) -> Tensor {
        match self {
            Self::Relu => x.relu(),
            Self::Sigmoid => x.sigmoid(),
            Self::Tanh => x.tanh(),
        }
    }
}

/// An autoencoder of linear layers. Layers of the first half are `encoder.0`, `encoder.1`, ..., those of the second
/// `decoder.0`, ...; with tied weights the decoder has biases only, and layer i uses the encoder's weight of the same
/// shape, transposed.
#[derive(Debug, Clone)]
pub struct Mlp {
    layers: Vec<usize>,
    tied: bool,
    activation: Activation,
    loss: ReconstructionLoss,
}

/// One linear layer: where its weight and bias are among the parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Linear {
    pub(crate) weight: usize,
    /// Whether the weight is another layer's, transposed.
    pub(crate) transposed: bool,
    pub(crate) bias: usize,
}

impl Mlp {
    /// Widths from input to output, such as `[784, 512, 64, 512, 784]`.
    pub fn new(layers: impl Into<Vec<usize>>, activation: Activation, loss: ReconstructionLoss) -> Self {
        Self { layers: layers.into(), tied: false, activation, loss }
    }

    /// With the decoder's weights tied to the encoder's.
    pub fn tied(self) -> Self {
        Self { tied: true, ..self }
    }

    /// The model a topology asks for.
    pub fn from_topology(model: &ModelSection) -> Self {
        let layers: Vec<_> = model.layers.iter().map(|w| *w as usize).collect();
        let loss = ReconstructionLoss::from_topology(model);
        let mlp = Self::new(layers, Activation::named(&model.activation), loss);
        if model.tied { mlp.tied() } else { mlp }
    }

    /// Each layer's place among the parameters, from the input on.
    pub(crate) fn linears(&self) -> Vec<Linear> {
        let count = self.layers.len() - 1;
        let half = count / 2;
        (0..count)
            .map(|i| {
                if self.tied && i >= half {
                    // Encoder layers take two parameters each, decoder layers one.
                    Linear { weight: 2 * (count - 1 - i), transposed: true, bias: 2 * half + i - half }
                } else {
                    Linear { weight: 2 * i, transposed: false, bias: 2 * i + 1 }
                }
            })
            .collect()
    }

    pub(crate) fn activation(&self) -> Activation {
        self.activation
    }

    pub(crate) fn widths(&self) -> &[usize] {
        &self.layers
    }
}

impl Model for Mlp {
    fn parameters(&self) -> Vec<Parameter> {
        let half = (self.layers.len() - 1) / 2;
        let mut all = Vec::new();
        for (i, pair) in self.layers.windows(2).enumerate() {
            let name = if i < half { format!("encoder.{i}") } else { format!("decoder.{}", i - half) };
            let [weight, bias] = Parameter::linear(&name, pair[0], pair[1]);
            if !(self.tied && i >= half) {
                all.push(weight);
            }
            all.push(bias);
        }
        all
    }

    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor {
        let tensors = params.tensors();
        let mut x = noisy.flatten(1, -1);
        let linears = self.linears();
        for (i, l) in linears.iter().enumerate() {
            let weight = &tensors[l.weight];
            let bias = Some(&tensors[l.bias]);
            x = if l.transposed { x.linear(&weight.tr(), bias) } else { x.linear(weight, bias) };
            if i + 1 < linears.len() {
                x = self.activation.of(&x);
            }
        }
        x
    }

    fn loss(&self, params: &Params, samples: &Samples) -> Tensor {
        self.loss.of(&self.forward(params, &samples.noisy), samples)
    }

    fn reconstruct(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.loss.values(&self.forward(params, noisy))
    }

    fn pass(&self, memory: &Memory<'_>, rows: usize) -> Option<Box<dyn Pass>> {
        // Autograd covers what is rare.
        let plain = self.loss.is_plain() && !self.tied && self.loss.logits;
        plain.then(|| Box::new(MlpPass::new(self, self.loss.cross_entropy, memory, rows)) as Box<dyn Pass>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Init;

    #[test]
    fn names_and_shapes_are_pytorchs() {
        let mlp = Mlp::new([784, 512, 64, 512, 784], Activation::Relu, ReconstructionLoss::BCE);
        let names: Vec<_> = mlp.parameters().iter().map(|p| (p.name.clone(), p.shape.clone())).collect();
        assert_eq!(names[0], ("encoder.0.weight".into(), vec![512, 784]));
        assert_eq!(names[7], ("decoder.1.bias".into(), vec![784]));
        let tied: Vec<_> = mlp.tied().parameters().into_iter().map(|p| p.name).collect();
        let want = ["encoder.0.weight", "encoder.0.bias", "encoder.1.weight", "encoder.1.bias"];
        assert_eq!(tied[..4], want);
        assert_eq!(tied[4..], ["decoder.0.bias", "decoder.1.bias"]);
    }

    #[test]
    fn it_starts_as_torch_nn_linear_does() {
        let mlp = Mlp::new([4, 2, 4], Activation::Relu, ReconstructionLoss::BCE);
        assert_eq!(mlp.parameters()[0].init, Init::Uniform(0.5));
    }
}
