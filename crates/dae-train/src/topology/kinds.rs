//! The names a topology may use: the stock ones and those a user's program registers.

use std::collections::BTreeSet;

/// The kinds of models, datasets and actors this program can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds {
    models: BTreeSet<String>,
    data: BTreeSet<String>,
    actors: BTreeSet<String>,
}

impl Kinds {
    /// What the stock host knows: models `mlp` and `conv`, datasets `mnist` and `idx`, no actors.
    pub fn stock() -> Self {
        let set = |names: [&str; 2]| names.map(String::from).into();
        Self {
            models: set(["mlp", "conv"]),
            data: set(["mnist", "idx"]),
            actors: BTreeSet::new(),
        }
    }

    /// The same kinds and a model.
    pub fn with_model(mut self, name: impl Into<String>) -> Self {
        self.models.insert(name.into());
        self
    }

    /// The same kinds and a dataset.
    pub fn with_data(mut self, name: impl Into<String>) -> Self {
        self.data.insert(name.into());
        self
    }

    /// The same kinds and an actor.
    pub fn with_actor(mut self, name: impl Into<String>) -> Self {
        self.actors.insert(name.into());
        self
    }

    /// The models' names.
    pub fn models(&self) -> &BTreeSet<String> {
        &self.models
    }

    /// The datasets' names.
    pub fn data(&self) -> &BTreeSet<String> {
        &self.data
    }

    /// The actors' names.
    pub fn actors(&self) -> &BTreeSet<String> {
        &self.actors
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::stock()
    }
}
