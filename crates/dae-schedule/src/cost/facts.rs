//! [`Facts`]: what is trained, and on how many machines.

use super::refused::{Refused, within};

/// What is trained, and on how many machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Parameters of the model, f32; at most 1e15.
    pub params: u64,
    /// Rows and columns of each matrix among them; `wire=powersgd(r)` depends on it. The other parameters are vectors.
    pub matrices: Vec<(u64, u64)>,
    /// Samples of each worker and micro-batch; at most 1e12.
    pub batch: u64,
    /// Numbers per sample that go from one stage of a pipeline to the next, or from one part of a layer to all; at most
    /// 1e12.
    pub width: u64,
    /// Layers with parameters, at least 1; at most 1e6.
    pub layers: u64,
    /// Numbers per sample that are kept for the backward pass; at most 1e15.
    pub activations: u64,
    /// The machines there are; as many as the word needs when left out.
    pub nodes: Option<u32>,
    /// Workers that fit on a machine; the word's, spread evenly over `nodes`, when left out.
    pub workers_per_node: Option<u32>,
}

impl Facts {
    /// A model of which only the size is known: taken for two square matrices, as of one hidden layer.
    pub fn of_params(params: u64, batch: u64) -> Self {
        let side = (params / 2).isqrt();
        Self {
            params,
            matrices: vec![(side, side); 2],
            batch,
            width: side,
            layers: 2,
            activations: side.saturating_mul(3),
            nodes: None,
            workers_per_node: None,
        }
    }

    /// A stack of dense layers with these widths, from the input to the output, as `model.layers` gives them.
    pub fn of_layers(widths: &[u32], batch: u64) -> Self {
        let matrices: Vec<(u64, u64)> =
            widths.windows(2).map(|pair| (u64::from(pair[0]), u64::from(pair[1]))).collect();
        let params =
            matrices.iter().map(|(rows, columns)| rows * columns + columns).fold(0, u64::saturating_add);
        let inner = &widths[widths.len().min(1)..widths.len().saturating_sub(1).max(widths.len().min(1))];
        let sum = |widths: &[u32]| widths.iter().map(|w| u64::from(*w)).sum::<u64>();
        Self {
            params,
            batch,
            width: sum(inner) / (inner.len() as u64).max(1),
            layers: (matrices.len() as u64).max(1),
            activations: sum(widths),
            matrices,
            nodes: None,
            workers_per_node: None,
        }
    }

    /// All that is wrong with them.
    pub(crate) fn check(&self, refused: &mut Vec<Refused>) {
        within("model parameters", self.params as f64, (0.0, 1e15), refused);
        within("batch", self.batch as f64, (0.0, 1e12), refused);
        within("width between layers", self.width as f64, (0.0, 1e12), refused);
        within("layers", self.layers as f64, (1.0, 1e6), refused);
        within("activations", self.activations as f64, (0.0, 1e15), refused);
        let most = f64::from(crate::MAX_COUNT);
        within("nodes", f64::from(self.nodes.unwrap_or(1)), (1.0, most), refused);
        within("workers per node", f64::from(self.workers_per_node.unwrap_or(1)), (1.0, most), refused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_counted_with_their_biases() {
        let facts = Facts::of_layers(&[784, 512, 64, 512, 784], 128);
        assert_eq!(facts.params, 784 * 512 + 512 + 512 * 64 + 64 + 64 * 512 + 512 + 512 * 784 + 784);
        assert_eq!((facts.layers, facts.width, facts.activations), (4, (512 + 64 + 512) / 3, 2656));
        assert_eq!(Facts::of_layers(&[], 1).params, 0);
        assert_eq!(Facts::of_layers(&[5], 1).layers, 1);
        assert_eq!(Facts::of_layers(&[u32::MAX, u32::MAX, u32::MAX], 1).params, u64::MAX);
    }
}
