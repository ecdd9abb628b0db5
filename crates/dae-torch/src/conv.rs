//! The convolutional denoising autoencoder of the Keras example "Convolutional autoencoder for image denoising"
//! (S. L. Valdarrama, 2021).

use crate::{Init, Model, Parameter, Params, ReconstructionLoss, Samples};
use dae_train::topology::ModelSection;
use tch::Tensor;

/// Channels of every inner layer.
const CHANNELS: usize = 32;

/// Two 3x3 convolutions of 32 channels, each halved by max-pooling; two transposed convolutions of stride 2 back up;
/// one 3x3 convolution to one channel. Relu between, 28,353 parameters, whatever the size of the image.
#[derive(Debug, Clone)]
pub struct ConvAutoencoder {
    loss: ReconstructionLoss,
}

impl ConvAutoencoder {
    /// With this loss.
    pub fn new(loss: ReconstructionLoss) -> Self {
        Self { loss }
    }

    /// The model a topology asks for.
    pub fn from_topology(model: &ModelSection) -> Self {
        Self::new(ReconstructionLoss::from_topology(model))
    }
}

impl Model for ConvAutoencoder {
    fn parameters(&self) -> Vec<Parameter> {
        // Name, output and input channels, and whether it is transposed, whose weight PyTorch keeps as [in, out].
        let layers = [
            ("encoder.0", CHANNELS, 1, false),
            ("encoder.1", CHANNELS, CHANNELS, false),
            ("decoder.0", CHANNELS, CHANNELS, true),
            ("decoder.1", CHANNELS, CHANNELS, true),
            ("decoder.2", 1, CHANNELS, false),
        ];
        layers
            .into_iter()
            .flat_map(|(name, out, inp, transposed)| {
                // Glorot and Bengio 2010, as Keras starts.
                let bound = (6.0 / (9 * (inp + out)) as f32).sqrt();
                let (a, b) = if transposed { (inp, out) } else { (out, inp) };
                [
                    Parameter::new(format!("{name}.weight"), [a, b, 3, 3], Init::Uniform(bound)),
                    Parameter::new(format!("{name}.bias"), [out], Init::Zeros),
                ]
            })
            .collect()
    }

    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor {
        let conv = |x: &Tensor, name: &str| {
            let (weight, bias) = (&params[&*format!("{name}.weight")], &params[&*format!("{name}.bias")]);
            x.conv2d(weight, Some(bias), [1, 1], [1, 1], [1, 1], 1)
        };
        let up = |x: &Tensor, name: &str| {
            let (weight, bias) = (&params[&*format!("{name}.weight")], &params[&*format!("{name}.bias")]);
            x.conv_transpose2d(weight, Some(bias), [2, 2], [1, 1], [1, 1], 1, [1, 1])
        };
        let halve = |x: &Tensor| x.max_pool2d([2, 2], [2, 2], [0, 0], [1, 1], false);
        let code = halve(&conv(&halve(&conv(noisy, "encoder.0").relu()), "encoder.1").relu());
        conv(&up(&up(&code, "decoder.0").relu(), "decoder.1").relu(), "decoder.2")
    }

    fn loss(&self, params: &Params, samples: &Samples) -> Tensor {
        self.loss.of(&self.forward(params, &samples.noisy), samples)
    }

    fn reconstruct(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.loss.values(&self.forward(params, noisy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_published_number_of_parameters() {
        let count = |p: &Parameter| p.shape.iter().product::<usize>();
        let model = ConvAutoencoder::new(ReconstructionLoss::BCE);
        assert_eq!(model.parameters().iter().map(count).sum::<usize>(), 28_353);
    }
}
