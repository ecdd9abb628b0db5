//! [`Step`]: what closes a gradient.

use std::fmt;

use crate::optimizer::Optimizer;
use crate::print::{Shortest, unless_default};

/// `step`: closes the gradient and makes a model process of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What becomes of the gradient.
    pub closing: Closing,
    /// How much of state, gradient and parameters is cut over the replicas, 0 to 3; `zero=`, 0 when left out
    /// (Rajbhandari et al. 2020). It changes memory, not the curve (law G8).
    pub zero: u8,
    /// The bound on the global norm of the gradient, above 0; `clip=`, none when left out.
    pub clip: Option<f32>,
}

/// What becomes of a closed gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Closing {
    /// An optimizer turns it into a change of the parameters.
    Optimizer(Optimizer),
    /// `raw`: it is handed on as the displacement, for a `join` to apply.
    Raw,
}

impl Step {
    /// `step` with this and nothing else.
    pub fn new(closing: Closing) -> Self {
        Self { closing, zero: 0, clip: None }
    }

    /// The optimizer, if it is not `raw`.
    pub fn optimizer(&self) -> Option<&Optimizer> {
        match &self.closing {
            Closing::Optimizer(optimizer) => Some(optimizer),
            Closing::Raw => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.closing {
            Closing::Optimizer(optimizer) => write!(f, "step {optimizer}")?,
            Closing::Raw => f.write_str("step raw")?,
        }
        unless_default(f, "zero", &self.zero, &0)?;
        self.clip.map_or(Ok(()), |clip| write!(f, " clip={}", Shortest(clip)))
    }
}
