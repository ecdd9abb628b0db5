//! The stock model a topology names.

use crate::{ConvAutoencoder, Mlp, Model};
use dae_train::topology::ModelSection;
use std::sync::Arc;

/// The stock model of the section's kind, or `None` if the kind is a user's own.
pub fn stock(model: &ModelSection) -> Option<Arc<dyn Model>> {
    match model.kind.as_str() {
        "mlp" => Some(Arc::new(Mlp::from_topology(model))),
        "conv" => Some(Arc::new(ConvAutoencoder::from_topology(model))),
        _ => None,
    }
}
