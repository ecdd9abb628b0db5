//! The gradient of a multilayer perceptron without autograd.
//!
//! The same libtorch kernels autograd would call, but every product is written where it is wanted: activations into
//! buffers kept from step to step, gradients straight into the worker's slot. That spares a copy of the gradient, its
//! allocation, and the page faults of fresh memory, which for wide layers is a tenth of a step.

use crate::Samples;
use crate::mlp::{Activation, Linear, Mlp};
use crate::model::{Memory, Pass};
use dae_train::backend::BackendError;
use tch::{Device, Kind, Reduction, TchError, Tensor};

pub(crate) struct MlpPass {
    linears: Vec<Linear>,
    activation: Activation,
    cross_entropy: bool,
    params: Vec<Tensor>,
    grads: Vec<Tensor>,
    /// Outputs of each layer, and the loss's derivative by them, for the most rows there can be.
    outputs: Vec<Tensor>,
    deltas: Vec<Tensor>,
}

impl MlpPass {
    pub(crate) fn new(mlp: &Mlp, cross_entropy: bool, memory: &Memory<'_>, rows: usize) -> Self {
        let buffers = || {
            let widths = mlp.widths()[1..].iter();
            widths.map(|w| Tensor::zeros([rows as i64, *w as i64], (Kind::Float, Device::Cpu))).collect()
        };
        Self {
            linears: mlp.linears(),
            activation: mlp.activation(),
            cross_entropy,
            // Detached: autograd is not to follow what is computed here.
            params: memory.params.tensors().iter().map(Tensor::detach).collect(),
            grads: memory.grads.iter().map(Tensor::shallow_clone).collect(),
            outputs: buffers(),
            deltas: buffers(),
        }
    }

    /// Fills `outputs`, the last with logits.
    fn forward(&mut self, input: &Tensor, rows: i64) -> Result<(), TchError> {
        let last = self.linears.len() - 1;
        for (i, l) in self.linears.iter().enumerate() {
            let mut out = self.outputs[i].f_narrow(0, 0, rows)?;
            let below =
                if i == 0 { input.shallow_clone() } else { self.outputs[i - 1].f_narrow(0, 0, rows)? };
            let weight = self.params[l.weight].f_tr()?;
            let _ = self.params[l.bias].f_addmm_out(&out, &below, &weight)?;
            if i < last {
                let _ = match self.activation {
                    Activation::Relu => out.f_relu_()?,
                    Activation::Sigmoid => out.f_sigmoid_()?,
                    Activation::Tanh => out.f_tanh_()?,
                };
            }
        }
        Ok(())
    }

    /// The sum over rows of the loss; fills the last of `deltas` with the derivative of that sum by the logits.
    fn loss(&mut self, clean: &Tensor, rows: i64) -> Result<f64, TchError> {
        let last = self.linears.len() - 1;
        let logits = self.outputs[last].f_narrow(0, 0, rows)?;
        let mut delta = self.deltas[last].f_narrow(0, 0, rows)?;
        let width = logits.size()[1] as f64;
        let _ = logits.f_sigmoid_out(&delta)?;
        let sum = if self.cross_entropy {
            let sum =
                logits.f_binary_cross_entropy_with_logits::<Tensor>(clean, None, None, Reduction::Sum)?;
            let _ = delta.f_sub_(clean)?.f_mul_scalar_(1.0 / width)?;
            sum
        } else {
            let sum = delta.f_mse_loss(clean, Reduction::Sum)?;
            // d/dz (s - x)^2 = 2 (s - x) s (1 - s).
            let slope = delta.f_mul(&delta.f_neg()?.f_add_scalar(1.0)?)?;
            let _ = delta.f_sub_(clean)?.f_mul_(&slope)?.f_mul_scalar_(2.0 / width)?;
            sum
        };
        Ok(f64::try_from(sum)? / width)
    }

    fn backward(&mut self, input: &Tensor, rows: i64, first: bool) -> Result<(), TchError> {
        for i in (0..self.linears.len()).rev() {
            let l = self.linears[i];
            let delta = self.deltas[i].f_narrow(0, 0, rows)?;
            let below =
                if i == 0 { input.shallow_clone() } else { self.outputs[i - 1].f_narrow(0, 0, rows)? };
            let (weight, bias) = (&mut self.grads[l.weight].shallow_clone(), &self.grads[l.bias]);
            if first {
                let _ = delta.f_tr()?.f_mm_out(weight, &below)?;
                let _ = delta.f_sum_intlist_out(bias, 0, false, Kind::Float)?;
            } else {
                let _ = weight.f_addmm_(&delta.f_tr()?, &below)?;
                let _ = bias.shallow_clone().f_add_(&delta.f_sum_dim_intlist(0, false, Kind::Float)?)?;
            }
            if i > 0 {
                let mut lower = self.deltas[i - 1].f_narrow(0, 0, rows)?;
                let _ = delta.f_mm_out(&lower, &self.params[l.weight])?;
                self.slope(&mut lower, &below)?;
            }
        }
        Ok(())
    }

    /// Multiplies a delta by the activation's derivative, known from the activation's output.
    fn slope(&self, delta: &mut Tensor, output: &Tensor) -> Result<(), TchError> {
        let given = delta.shallow_clone();
        let _ = match self.activation {
            Activation::Relu => output.f_threshold_backward_grad_input(delta, &given, 0.0)?,
            Activation::Sigmoid => Tensor::f_sigmoid_backward_grad_input(delta, &given, output)?,
            Activation::Tanh => Tensor::f_tanh_backward_grad_input(delta, &given, output)?,
        };
        Ok(())
    }
}

impl Pass for MlpPass {
    fn run(&mut self, samples: &Samples, first: bool) -> Result<f64, BackendError> {
        let rows = samples.rows as i64;
        let mut all = || {
            let (input, clean) = (samples.noisy.f_flatten(1, -1)?, samples.clean.f_flatten(1, -1)?);
            self.forward(&input, rows)?;
            let loss = self.loss(&clean, rows)?;
            self.backward(&input, rows, first)?;
            Ok(loss)
        };
        tch::no_grad(&mut all).map_err(|e: TchError| BackendError(e.to_string()))
    }
}
