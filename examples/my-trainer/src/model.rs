//! A sparse denoising autoencoder: one wide hidden layer, most of which is to be silent for any one sample.

use crate::settings;
use dae::torch::{Kind, Model, Parameter, Params, ReconstructionLoss, Samples, Tensor};
use dae::train::topology::ModelSection;

/// Values in an image of MNIST.
const PIXELS: usize = 28 * 28;

/// `code = relu(W x + b)`, `output = V code + c`; the loss adds to the cross-entropy a price on what the code says.
pub struct SparseAutoencoder {
    hidden: usize,
    sparsity: f64,
}

impl SparseAutoencoder {
    /// The model that `[model.options]` asks for.
    pub fn from_topology(section: &ModelSection) -> Result<Self, String> {
        let options = &section.options;
        settings::known(options.keys(), &["hidden", "sparsity"])?;
        let hidden = settings::number(options.get("hidden"), "hidden", 256)?;
        let sparsity = settings::number(options.get("sparsity"), "sparsity", 0.01)?;
        Ok(Self { hidden, sparsity })
    }
}

impl Model for SparseAutoencoder {
    fn parameters(&self) -> Vec<Parameter> {
        let encoder = Parameter::linear("encoder", PIXELS, self.hidden);
        let decoder = Parameter::linear("decoder", self.hidden, PIXELS);
        encoder.into_iter().chain(decoder).collect()
    }

    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor {
        decode(params, &encode(params, noisy))
    }

    fn loss(&self, params: &Params, samples: &Samples) -> Tensor {
        let code = encode(params, &samples.noisy);
        let reconstruction = ReconstructionLoss::BCE.of(&decode(params, &code), samples);
        reconstruction + code.mean(Kind::Float) * self.sparsity
    }

    fn reconstruct(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.forward(params, noisy).sigmoid()
    }
}

fn encode(params: &Params, noisy: &Tensor) -> Tensor {
    noisy.flatten(1, -1).linear(&params["encoder.weight"], Some(&params["encoder.bias"])).relu()
}

fn decode(params: &Params, code: &Tensor) -> Tensor {
    code.linear(&params["decoder.weight"], Some(&params["decoder.bias"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_parameters_have_the_names_a_checkpoint_keeps() {
        let parameters = SparseAutoencoder { hidden: 64, sparsity: 0.0 }.parameters();
        let named: Vec<_> = parameters.iter().map(|p| (p.name.as_str(), p.shape.clone())).collect();
        assert_eq!(
            named,
            [
                ("encoder.weight", vec![64, 784]),
                ("encoder.bias", vec![64]),
                ("decoder.weight", vec![784, 64]),
                ("decoder.bias", vec![784]),
            ]
        );
    }

    #[test]
    fn a_misspelt_option_is_an_error() {
        let mut section = ModelSection::default();
        section.options.insert("hidden".into(), 64.into());
        assert!(SparseAutoencoder::from_topology(&section).is_ok());
        section.options.insert("sparse".into(), 1.into());
        assert!(SparseAutoencoder::from_topology(&section).is_err());
    }
}
