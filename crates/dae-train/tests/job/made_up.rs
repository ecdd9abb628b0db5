//! A made-up dataset: samples of two hidden numbers each, so that there is something to learn.

use dae_train::data::{Dataset, uniform};
use std::sync::Arc;

/// More samples than a test has.
const MOST: f32 = 4096.0;

/// Samples whose first value says which one it is.
pub struct MadeUp {
    samples: usize,
    shape: [usize; 1],
    read: Arc<dyn Fn(usize) + Send + Sync>,
}

impl MadeUp {
    pub fn new(samples: usize, features: usize) -> Self {
        Self { samples, shape: [features], read: Arc::new(|_| ()) }
    }

    /// The same, calling this with the number of each sample that is read; it may as well panic or wait.
    pub fn reading(mut self, read: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.read = Arc::new(read);
        self
    }

    /// Which sample a clean row is.
    pub fn id(row: &[f32]) -> usize {
        (row[0] * MOST) as usize
    }
}

impl Dataset for MadeUp {
    fn name(&self) -> &str {
        "made-up"
    }

    fn len(&self) -> usize {
        self.samples
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, id: usize, out: &mut [f32]) {
        (self.read)(id);
        let mut hidden = [0.0; 2];
        uniform(7, id as u64, 0.25, &mut hidden);
        for (j, x) in out.iter_mut().enumerate() {
            *x = 0.5 + hidden[0] * libm::sinf(j as f32) + hidden[1] * libm::cosf(j as f32);
        }
        out[0] = id as f32 / MOST;
    }
}
