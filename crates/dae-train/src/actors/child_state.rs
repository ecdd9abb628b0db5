//! What a child of a join has come to besides its parameters.

use super::Child;
use super::bulk::{bytes_of, numbers_of};
use dae_actor::Body;
use dae_collective::{Scale, Snapshot};
use serde::{Deserialize, Serialize};

/// What a child of a join has come to besides its parameters: a copy in its arena, or on another node what came from there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildState {
    /// Optimizer steps it has done.
    pub steps: u64,
    /// The scale of its next order-free sum, where its sums are.
    pub scale: Option<i32>,
    #[serde(skip)]
    held: Held,
    /// What a lossy wire has kept back; what came from another node has it at the end of its buffers.
    #[serde(skip)]
    kept: Option<Vec<f32>>,
    /// Whether it is more than what the centre and the optimizer are: where the child stands.
    #[serde(skip)]
    apart: bool,
}

#[derive(Debug)]
enum Held {
    Here(Snapshot),
    There(Vec<Vec<f32>>),
}

impl Default for Held {
    fn default() -> Self {
        Self::There(Vec::new())
    }
}

impl ChildState {
    /// Of a child between two rounds, with a copy of its arena.
    pub(super) fn new(snapshot: Snapshot, child: Option<&Child>) -> Self {
        let kept = child.and_then(Child::residual).map(|residual| residual.kept().to_vec());
        let scale = snapshot.scale();
        let scale = (scale != Scale::UNKNOWN).then(|| scale.to_number());
        let apart = child.is_some_and(Child::stands_apart);
        Self { steps: snapshot.step, scale, held: Held::Here(snapshot), kept, apart }
    }

    /// The optimizer's flat buffers, in the order of its state names, what a lossy wire has kept back, and where the child
    /// stands if that is not the centre.
    pub fn state(&self) -> Vec<&[f32]> {
        let mut state = match &self.held {
            Held::Here(snapshot) => snapshot.state(),
            Held::There(state) => state.iter().map(Vec::as_slice).collect(),
        };
        state.extend(self.kept.as_deref());
        if let (true, Held::Here(snapshot)) = (self.apart, &self.held) {
            state.push(snapshot.params());
        }
        state
    }
}

/// The buffers travel as parts, one each; the copy's place in the arena is free then.
impl Body for ChildState {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        let parts = self.state().into_iter().map(bytes_of).collect();
        (self.held, self.kept) = (Held::default(), None);
        parts
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let state = parts.iter().map(|bytes| numbers_of(bytes)).collect::<Result<_, _>>()?;
        self.held = Held::There(state);
        Ok(())
    }
}
