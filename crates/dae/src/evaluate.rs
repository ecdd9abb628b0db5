//! The command `eval`, and the noise it measures with.

use crate::cli::EvalArgs;
use crate::exit::Failure;
use crate::host::{Host, Part};
use crate::prepare;
use dae_train::backend::{Backend, BackendError};
use dae_train::checkpoint::{self, Checkpoint};
use dae_train::data::{Batch, Dataset, Feeder, Sampler};
use dae_train::exit::Exit;
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
#[derive(Debug, Default, Serialize)]
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
    let evaluation = measure(&*backend, &checkpoint, &dataset, plan.topology()).map_err(Failure::failed)?;
    if !evaluation.loss.is_finite() {
        return Err(Failure::failed(format!(
            "the model of step {} puts out numbers that are not finite: it has diverged. Begin anew with a smaller \
             learning rate, or with clip=1.0 after the optimizer",
            evaluation.step
        )));
    }
    if args.json {
        println!("{}", serde_json::to_string(&evaluation).map_err(Failure::failed)?);
    } else {
        print_table(&evaluation);
    }
    Ok(Exit::Done)
}

/// Some samples, their corrupted versions and what a model makes of those, each one after the other.
pub(crate) struct Reconstructed {
    pub(crate) clean: Vec<f32>,
    pub(crate) noisy: Vec<f32>,
    pub(crate) denoised: Vec<f32>,
    /// The sum of the loss over the samples.
    loss: f64,
}

/// Corrupts samples with noise of their own and lets a model reconstruct them, some at a time.
pub(crate) struct Reconstruction<'a> {
    backend: &'a dyn Backend,
    params: &'a [f32],
    feeder: Feeder,
    batch: Batch,
    buffer: Vec<f32>,
}

impl<'a> Reconstruction<'a> {
    pub(crate) fn new(
        backend: &'a dyn Backend,
        params: &'a [f32],
        dataset: &Arc<dyn Dataset>,
        topology: &Topology,
    ) -> Self {
        let sampler = Sampler::new(SEED, dataset.len(), false);
        Self {
            backend,
            params,
            feeder: Feeder::new(dataset.clone(), sampler, corruption(topology), SEED),
            batch: Batch::new(ROWS, dataset.features(), topology.model.wants_mask()),
            buffer: vec![0.0; ROWS * dataset.features()],
        }
    }

    /// Samples from `start` on, at most [`ROWS`] of them.
    pub(crate) fn of(&mut self, start: usize, count: usize) -> Result<Reconstructed, BackendError> {
        let end = start + count.min(ROWS);
        self.feeder.fill(start as u64..end as u64, &mut self.batch);
        let loss = self.backend.reconstruct(self.params, &self.batch, &mut self.buffer)?;
        let filled = self.batch.rows * self.batch.features;
        Ok(Reconstructed {
            clean: self.batch.clean[..filled].to_vec(),
            noisy: self.batch.noisy[..filled].to_vec(),
            denoised: self.buffer[..filled].to_vec(),
            loss,
        })
    }
}

/// Measures a checkpoint on all samples of a set.
fn measure(
    backend: &dyn Backend,
    checkpoint: &Checkpoint,
    dataset: &Arc<dyn Dataset>,
    topology: &Topology,
) -> Result<Evaluation, BackendError> {
    let (features, samples) = (dataset.features(), dataset.len());
    let mut reconstruction = Reconstruction::new(backend, &checkpoint.params, dataset, topology);
    let mut sums = Evaluation { step: checkpoint.meta.step, samples, ..Default::default() };
    if let [1, ..] = *dataset.shape()
        && dataset.shape().len() == 3
    {
        (sums.ssim, sums.ssim_corrupted) = (Some(0.0), Some(0.0));
    }
    for start in (0..samples).step_by(ROWS) {
        let r = reconstruction.of(start, samples - start)?;
        let part = (r.clean.len() / features) as f64 / samples as f64;
        let (before, after) =
            (mean_quality(&r.noisy, &r.clean, features), mean_quality(&r.denoised, &r.clean, features));
        sums.loss += r.loss / samples as f64;
        sums.mse_corrupted += before.mse * part;
        sums.mse += after.mse * part;
        sums.psnr_corrupted += before.psnr * part;
        sums.psnr += after.psnr * part;
        if let ([_, height, width], Some(a), Some(b)) =
            (dataset.shape(), &mut sums.ssim_corrupted, &mut sums.ssim)
        {
            let each = |images: &[f32]| -> f64 {
                let pairs = images.chunks(features).zip(r.clean.chunks(features));
                pairs.map(|(x, y)| ssim(x, y, *width, *height)).sum::<f64>() / samples as f64
            };
            *a += each(&r.noisy);
            *b += each(&r.denoised);
        }
    }
    Ok(sums)
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
