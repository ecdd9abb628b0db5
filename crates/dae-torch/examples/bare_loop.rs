//! The steps of a run in a plain loop, without an actor: what the machinery around them is measured against.
//!
//! It uses the same kernels and the same optimizer on one thread that stays on its core, and fills its batches itself.
//! Prints one JSON line.

use dae_collective::{Arena, Contribution};
use dae_schedule::Optimizer;
use dae_torch::{Activation, Mlp, ReconstructionLoss, TorchBackend};
use dae_train::backend::Backend;
use dae_train::data::{Batch, Corruption, CorruptionKind, Dataset, Feeder, Sampler, mnist};
use dae_train::optimizer::Rule;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps before the clock starts.
const WARM_UP: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = options.iter().position(|o| o == name).and_then(|i| options.get(i + 1));
        at.ok_or_else(|| format!("{name} is missing: --mnist DIR --hidden N --code N --batch N --steps N"))
    };
    let number = |name: &str| -> Result<usize, Box<dyn Error>> { Ok(option(name)?.parse()?) };
    let (hidden, code, batch) = (number("--hidden")?, number("--code")?, number("--batch")?);
    let steps = number("--steps")? as u64;
    dae_torch::reuse_memory();
    let pinned = core_affinity::get_core_ids().and_then(|ids| ids.first().copied());
    if !pinned.is_some_and(core_affinity::set_for_current) {
        eprintln!("bare_loop: this thread could not be pinned to its core");
    }

    let images: Arc<dyn Dataset> = Arc::new(mnist(Path::new(option("--mnist")?), true)?);
    let layers = [784, hidden, code, hidden, 784];
    let model = Arc::new(Mlp::new(layers, Activation::Relu, ReconstructionLoss::BCE));
    let backend = TorchBackend::new(model, images.shape(), batch, 1)?;
    let rule = Rule::new(&Optimizer::adam(1e-3));
    let len = backend.layout().len();
    let arena = Arena::new(len, rule.state_names().len(), 1, Duration::from_secs(60));
    let (mut params, zeros) = (vec![0.0; len], vec![0.0; len]);
    backend.initialise(0, &mut params)?;
    arena.load(0, &params, &[&zeros, &zeros], dae_collective::Scale::UNKNOWN)?;

    let corruption = Corruption { kind: CorruptionKind::Masking, level: 0.3, fresh: true };
    let feeder = Feeder::new(images.clone(), Sampler::new(0, images.len(), true), corruption, 0);
    let mut member = arena.join(0)?;
    let mut replica = backend.replica(&member)?;
    let mut samples = Batch::new(batch, images.features(), false);
    let (mut start, mut loss) = (Instant::now(), 0.0);
    for step in 0..WARM_UP + steps {
        if step == WARM_UP {
            start = Instant::now();
        }
        let first = step * batch as u64;
        feeder.fill(first..first + batch as u64, &mut samples);
        loss = replica.gradient(&mut member, &samples, true)? / batch as f64;
        let mine = Contribution { weight: batch as f64, loss, ..Default::default() };
        member.reduce(mine, |view| {
            let finite =
                rule.apply(step + 1, 1.0, 1.0 / batch as f32, view.params, &mut view.state, &view.grads);
            Ok(((), Some(finite)))
        })?;
    }
    let speed = (batch as u64 * steps) as f64 / start.elapsed().as_secs_f64();
    println!(
        "{{\"contender\":\"bare_loop\",\"workers\":1,\"hidden\":{hidden},\"code\":{code},\"batch\":{batch},\
         \"samples_per_s\":{speed:.1},\"loss\":{loss:.4}}}"
    );
    Ok(())
}
