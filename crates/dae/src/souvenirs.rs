//! The pictures and the summary a run leaves behind.

use crate::evaluate::{Reconstructed, Reconstruction};
use crate::host::{Host, Part};
use crate::prepare::{self, Prepared};
use dae_train::actors::Ended;
use dae_train::job::Report;
use dae_train::layout::Layout;
use dae_train::picture::{Row, Series, loss_curve, reconstruction};
use dae_train::run_folder::{DiskError, RunFolder, read_losses, write_atomic};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::Duration;

/// Columns of the sheet of reconstructions.
const COLUMNS: usize = 12;

/// Writes `summary.json`, `loss.png` and `reconstruction.png`. A picture that cannot be drawn is told and costs nothing
/// else.
pub(crate) fn leave(
    host: &Host,
    prepared: &Prepared,
    folder: &RunFolder,
    report: &Report,
    took: Duration,
) -> Result<(), DiskError> {
    if let Err(cause) = draw_losses(prepared, folder) {
        tracing::warn!(cause, "no loss.png");
    }
    if let Some(params) = &report.params
        && let Err(cause) = draw_reconstructions(host, prepared, folder, params)
    {
        tracing::warn!(cause, "no reconstruction.png");
    }
    write_atomic(&folder.summary_json(), format!("{:#}\n", summary(prepared, report, took)).as_bytes())
}

fn summary(prepared: &Prepared, report: &Report, took: Duration) -> serde_json::Value {
    let Prepared { plan, dataset, backend } = prepared;
    let (status, cause) = match &report.how {
        Ended::Finished => ("finished", None),
        Ended::Stopped(why) => ("stopped", Some(why)),
        Ended::Failed(cause) => ("failed", Some(cause)),
    };
    json!({
        "job": plan.topology().job.name,
        "status": status,
        "cause": cause,
        "step": report.step,
        "steps": plan.updates(dataset.len()),
        "loss": report.loss,
        "samples_per_s": report.samples_per_s,
        "seconds": took.as_secs_f64(),
        "workers": plan.workers(),
        "schedule": plan.word().to_string(),
        "global_batch": plan.global_batch(),
        "parameters": backend.layout().parameters(),
        "parameters_sha256": report.params.as_deref().map(|p| hash(backend.layout(), p)),
        "fingerprint": plan.fingerprint(),
        "restarts": report.restarts,
        "slowest": report.slowest,
        "skipped": report.skipped,
        "checkpoint": report.checkpoint,
    })
}

/// SHA-256 of all tensors' little-endian bytes, in order, without the gaps between them.
fn hash(layout: &Layout, params: &[f32]) -> String {
    let mut hash = Sha256::new();
    for tensor in layout.tensors() {
        let bytes: Vec<u8> = params[tensor.range()].iter().flat_map(|x| x.to_le_bytes()).collect();
        hash.update(bytes);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn draw_losses(prepared: &Prepared, folder: &RunFolder) -> Result<(), String> {
    let losses = read_losses(&folder.events()).map_err(|e| e.to_string())?;
    let points = losses.into_iter().map(|(step, loss)| (step as f64, loss)).collect();
    let series = Series { label: String::new(), points };
    let plan = &prepared.plan;
    let title = format!("{}: {}", plan.topology().job.name, plan.word());
    loss_curve(&folder.loss_png(), &[series], &title).map_err(|e| e.to_string())
}

fn draw_reconstructions(
    host: &Host,
    prepared: &Prepared,
    folder: &RunFolder,
    params: &[f32],
) -> Result<(), String> {
    let Prepared { plan, dataset, backend } = prepared;
    let &[1, height, width] = dataset.shape() else {
        // Only images can be looked at.
        return Ok(());
    };
    // Where the samples to evaluate on are missing, those it was trained on show as much.
    let samples = prepare::open(host, &plan.topology().data, Part::Test).unwrap_or_else(|_| dataset.clone());
    let mut maker = Reconstruction::new(&**backend, params, &samples, plan.topology());
    let count = COLUMNS.min(samples.len());
    let Reconstructed { clean, noisy, denoised, .. } = &maker.of(0, count).map_err(|e| e.to_string())?;
    let row = |label: &str, values: &Vec<f32>| Row {
        label: label.into(),
        images: values.chunks(height * width).map(<[f32]>::to_vec).collect(),
    };
    let rows = [row("clean", clean), row("corrupted", noisy), row("denoised", denoised)];
    reconstruction(&folder.reconstruction_png(), &rows, width, height).map_err(|e| e.to_string())
}
