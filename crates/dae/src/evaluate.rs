//! The command `eval`, and the noise it measures with.

use crate::cli::EvalArgs;
use crate::exit::{Exit, Failure};
use crate::host::{Host, Part};
use crate::prepare;
use dae_train::backend::Backend;
use dae_train::checkpoint;
use dae_train::data::{Batch, Dataset, Feeder, Sampler};
use dae_train::job::corruption;
use dae_train::metrics::{mean_quality, ssim};
use dae_train::topology::Topology;
use serde::Serialize;
use std::sync::Arc;

/// The seed of the noise on the samples that a model is measured with: the same for every run, so that runs compare.
const SEED: u64 = 999;
/// Samples reconstructed at a time.
const ROWS: usize = 250;

/// How good a model is on samples it has not seen.
#[derive(Debug, Serialize)]
struct Evaluation {
    /// Committed steps.
    step: u64,
    /// Samples measured with.
    samples: usize,
    /// The model's own loss.
    loss: f64,
    /// Mean squared error of the corrupted and of the denoised samples.
    mse_corrupted: f64,
    mse: f64,
    /// Peak signal-to-noise ratio, dB, a mean over samples.
    psnr_corrupted: f64,
    psnr: f64,
    /// Structural similarity, a mean over images; none where samples are not images.
    #[serde(skip_serializing_if = "Option::is_none")]
    ssim_corrupted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssim: Option<f64>,
}

/// Measures the newest valid checkpoint of a run on the samples to evaluate on.
pub(crate) fn evaluate(host: &Host, args: &EvalArgs) -> Result<Exit, Failure> {
    let folder = args.run.join("checkpoints");
    let found = checkpoint::newest_valid(&folder).map_err(Failure::failed)?;
    for (path, why) in &found.skipped {
        eprintln!("passed over {}: {why}", path.display());
    }
    let Some(checkpoint) = found.checkpoint else {
        return Err(Failure::failed(format!(
            "{} holds no checkpoint; give the folder of a run, such as runs/demo",
            folder.display()
        )));
    };
    let plan = Topology::from_str("the checkpoint's topology", &checkpoint.meta.topology, &[])
        .and_then(|loaded| loaded.compile(&host.kinds()))
        .map_err(Failure::invalid)?;
    let dataset = prepare::open(host, &plan.topology().data, Part::Test)?;
    let backend = prepare::backend(host, &plan, dataset.shape(), ROWS)?;
    if *backend.layout() != checkpoint.meta.layout {
        return Err(Failure::failed("the checkpoint holds other tensors than this host's model"));
    }
    let reconstructed = reconstruct(&*backend, &checkpoint.params, &dataset, plan.topology(), dataset.len())
        .map_err(Failure::failed)?;
    let evaluation = measure(checkpoint.meta.step, &reconstructed, dataset.shape());
    if args.json {
        println!("{}", serde_json::to_string(&evaluation).map_err(Failure::failed)?);
    } else {
        print_table(&evaluation);
    }
    Ok(Exit::Done)
}

/// Samples, their corrupted versions and what a model makes of those, one after the other.
pub(crate) struct Reconstructed {
    pub(crate) clean: Vec<f32>,
    pub(crate) noisy: Vec<f32>,
    pub(crate) denoised: Vec<f32>,
    pub(crate) features: usize,
    /// The sum of the loss over samples.
    loss: f64,
}

/// Corrupts the first `count` samples with noise of their own and reconstructs them.
pub(crate) fn reconstruct(
    backend: &dyn Backend,
    params: &[f32],
    dataset: &Arc<dyn Dataset>,
    topology: &Topology,
    count: usize,
) -> Result<Reconstructed, dae_train::backend::BackendError> {
    let features = dataset.features();
    let sampler = Sampler::new(SEED, dataset.len(), false);
    let feeder = Feeder::new(dataset.clone(), sampler, corruption(topology), SEED);
    let model = &topology.model;
    let mut batch = Batch::new(ROWS, features, model.emphasis_corrupted != model.emphasis_clean);
    let mut out = Reconstructed { clean: vec![], noisy: vec![], denoised: vec![], features, loss: 0.0 };
    let mut buffer = vec![0.0; ROWS * features];
    for start in (0..count.min(dataset.len())).step_by(ROWS) {
        let end = (start + ROWS).min(count).min(dataset.len());
        feeder.fill(start as u64..end as u64, &mut batch);
        out.loss += backend.reconstruct(params, &batch, &mut buffer)?;
        let filled = (end - start) * features;
        out.clean.extend(&batch.clean[..filled]);
        out.noisy.extend(&batch.noisy[..filled]);
        out.denoised.extend(&buffer[..filled]);
    }
    Ok(out)
}

fn measure(step: u64, r: &Reconstructed, shape: &[usize]) -> Evaluation {
    let samples = r.clean.len() / r.features;
    let (before, after) =
        (mean_quality(&r.noisy, &r.clean, r.features), mean_quality(&r.denoised, &r.clean, r.features));
    let similarity = |images: &[f32]| match shape {
        [1, height, width] => {
            let pairs = images.chunks(r.features).zip(r.clean.chunks(r.features));
            Some(pairs.map(|(a, b)| ssim(a, b, *width, *height)).sum::<f64>() / samples as f64)
        }
        _ => None,
    };
    Evaluation {
        step,
        samples,
        loss: r.loss / samples as f64,
        mse_corrupted: before.mse,
        mse: after.mse,
        psnr_corrupted: before.psnr,
        psnr: after.psnr,
        ssim_corrupted: similarity(&r.noisy),
        ssim: similarity(&r.denoised),
    }
}

fn print_table(e: &Evaluation) {
    println!("step {}, {} samples, loss {:.4}", e.step, e.samples, e.loss);
    println!("{:<10}{:>10}{:>10}", "", "corrupted", "denoised");
    println!("{:<10}{:>10.5}{:>10.5}", "MSE", e.mse_corrupted, e.mse);
    println!("{:<10}{:>10.2}{:>10.2}", "PSNR (dB)", e.psnr_corrupted, e.psnr);
    if let (Some(before), Some(after)) = (e.ssim_corrupted, e.ssim) {
        println!("{:<10}{before:>10.4}{after:>10.4}", "SSIM");
    }
}
