//! The reconstruction loss.

use crate::Samples;
use dae_train::topology::ModelSection;
use tch::{Reduction, Tensor};

/// How far a reconstruction is from the clean samples.
///
/// With emphasis, corrupted values weigh `corrupted` and the others `clean` (Vincent et al., "Stacked denoising
/// autoencoders", JMLR 11, 2010, section 4.4); equal weights are a plain mean times that weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReconstructionLoss {
    /// Binary cross-entropy on logits; else mean squared error.
    pub cross_entropy: bool,
    /// Whether the output is a logit, made a value in [0, 1] by a sigmoid.
    pub logits: bool,
    /// The weight of values that were corrupted.
    pub corrupted: f64,
    /// The weight of values that were not.
    pub clean: f64,
}

impl ReconstructionLoss {
    /// The mean squared error of the output itself.
    pub const MSE: Self = Self { cross_entropy: false, logits: false, corrupted: 1.0, clean: 1.0 };
    /// Binary cross-entropy of an output of logits.
    pub const BCE: Self = Self { cross_entropy: true, logits: true, corrupted: 1.0, clean: 1.0 };

    /// The loss a topology asks for.
    pub fn from_topology(model: &ModelSection) -> Self {
        Self {
            cross_entropy: model.loss == "bce",
            logits: model.output == "sigmoid",
            corrupted: model.emphasis_corrupted,
            clean: model.emphasis_clean,
        }
    }

    /// Whether all values weigh 1.
    pub fn is_plain(&self) -> bool {
        self.corrupted == 1.0 && self.clean == 1.0
    }

    /// The mean loss of an output, a scalar.
    pub fn of(&self, output: &Tensor, samples: &Samples) -> Tensor {
        let clean = samples.clean.view_as(output);
        let reduction = if self.is_plain() { Reduction::Mean } else { Reduction::None };
        let loss = if self.cross_entropy {
            output.binary_cross_entropy_with_logits::<Tensor>(&clean, None, None, reduction)
        } else {
            self.values(output).mse_loss(&clean, reduction)
        };
        match &samples.mask {
            _ if self.is_plain() => loss,
            Some(mask) => {
                let weight = mask.view_as(output) * (self.corrupted - self.clean) + self.clean;
                (loss * weight).mean(tch::Kind::Float)
            }
            // Equal weights need no mask.
            None => loss.mean(tch::Kind::Float) * self.clean,
        }
    }

    /// An output as values in the range of the samples.
    pub fn values(&self, output: &Tensor) -> Tensor {
        if self.logits { output.sigmoid() } else { output.shallow_clone() }
    }
}
