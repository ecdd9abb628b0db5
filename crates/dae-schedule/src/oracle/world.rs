//! [`World`]: what all items share while they run.

use super::deal::Deal;
use super::setting::Setting;
use super::trajectory::Push;

/// What all items share while they run. The setting is given; the rest is written.
pub(super) struct World<'a> {
    pub(super) setting: Setting<'a>,
    pub(super) deal: Deal,
    /// Samples consumed.
    pub(super) samples: u64,
    pub(super) log: Vec<Push>,
    /// How long each worker's last step took.
    pub(super) lasted: Vec<f64>,
}
