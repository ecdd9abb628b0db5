//! A trainer of one's own: a host that knows one model and one actor more than the stock one.
//!
//! | module | what it holds |
//! |---|---|
//! | `model` | [`SparseAutoencoder`], for `[model] kind = "sparse"` |
//! | `alarm` | [`LossAlarm`], for `[actors.early-stop]` |
//! | `settings` | numbers from the tables of a topology |
mod alarm;
mod model;
mod settings;

use alarm::{LossAlarm, Watch};
use model::SparseAutoencoder;
use std::process::ExitCode;

fn main() -> ExitCode {
    dae::host()
        .model("sparse", SparseAutoencoder::from_topology)
        .actor("early-stop", |options, job| {
            settings::known(options.keys(), &["patience", "ceiling"])?;
            let patience = settings::number(options.get("patience"), "patience", 500)?;
            let ceiling = settings::number(options.get("ceiling"), "ceiling", f64::INFINITY)?;
            Ok(LossAlarm::new(Watch::new(patience, ceiling), job))
        })
        .run()
}
