//! What a run needs of this machine, found out before anything is begun.

use dae_train::optimizer::Rule;
use dae_train::topology::Plan;

/// More workers than this on one node are a slip: each takes two threads and a slot as large as the model.
const MOST_WORKERS: usize = 1024;

/// Whether the run fits: a model of so many parameters, samples of so many values.
///
/// # Errors
/// The sentence that says what is needed, what there is, and what to change.
pub(crate) fn check(plan: &Plan, parameters: usize, features: usize) -> Result<(), String> {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_in(&text));
    fits(plan, parameters, features, available)
}

fn fits(plan: &Plan, parameters: usize, features: usize, available: Option<u128>) -> Result<(), String> {
    let workers = plan.workers_per_node();
    if workers > MOST_WORKERS {
        return Err(format!(
            "{workers} workers are asked for on one machine, which runs at most {MOST_WORKERS}: split into fewer, and \
             accumulate micro-batches (accum k) for the same samples a step"
        ));
    }
    let [parameters, features, workers] = [parameters, features, workers].map(|n| n as u128);
    let states = plan.optimizer().map_or(0, |optimizer| Rule::new(optimizer).state_names().len()) as u128;
    let children = if plan.apart() { 1 } else { plan.children() as u128 };
    // Parameters and optimizer state, two copies of both for checkpoints and one to start from; a slot a worker. The
    // centre of a join, with what was pushed and pulled, takes less than another child; so does each mailbox of a gossip,
    // with what its neighbours send.
    let groups = match plan.hub() {
        None => 1,
        Some(_) if plan.join().is_some() => children + 1,
        Some(_) => 2 * children,
    };
    let model = 4 * parameters * (4 * (1 + states) * groups + 2 * (groups - 1) + workers);
    // Where sums are free of order, integers for each worker, and all batches of a step in hand.
    let (sums, in_hand) =
        if plan.exact() { (8 * parameters * workers, plan.accum() as u128) } else { (0, 1) };
    // What sums over nodes take: what is reduced, room for what comes, and what a codec keeps back.
    let over_nodes = if plan.nodes() > 1 { 4 * parameters * if plan.exact() { 5 } else { 4 } } else { 0 };
    // Two copies for checkpoints and one to start from, on the first node, of what each keeps back.
    let kept = 3 * 4 * parameters * plan.kept_buffers().len() as u128;
    let model = model + sums + over_nodes + kept;
    let ready = u128::from(plan.topology().data.prefetch) + in_hand;
    // Clean and noisy, and perhaps the mask.
    let batches = 4 * 3 * workers * ready * plan.batch() as u128 * features;
    match available {
        Some(there) if model + batches > there => Err(format!(
            "the run needs {} GiB of memory ({} for the model, {} for batches) and {} are available: use a smaller \
             model, fewer workers, or a smaller data.batch or data.prefetch",
            gib(model + batches),
            gib(model),
            gib(batches),
            gib(there)
        )),
        _ => Ok(()),
    }
}

fn gib(bytes: u128) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 30))
}

/// Linux's own estimate of what can be had without swapping (proc(5)).
fn available_in(meminfo: &str) -> Option<u128> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dae_train::topology::{Kinds, Topology};

    fn plan(word: &str, batch: u32) -> Plan {
        Topology::new("t").schedule(word).batch(batch).compile(&Kinds::stock()).unwrap()
    }

    #[test]
    fn what_does_not_fit_is_said_with_the_sum() {
        let (gib, plan) = (1u128 << 30, plan("split 2 | step adam", 128));
        assert_eq!(fits(&plan, 870_224, 784, Some(gib)), Ok(()));
        assert_eq!(fits(&plan, usize::MAX, usize::MAX, None), Ok(()));
        let cause = fits(&plan, 1 << 30, 784, Some(16 * gib)).unwrap_err();
        assert!(cause.contains("56.0 GiB") && cause.contains("16.0 are available"), "{cause}");
        let workers = super::tests::plan("split 5000 | step adam", 1);
        assert!(fits(&workers, 10, 10, None).unwrap_err().contains("5000 workers"));
    }

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       25000000 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(available_in(text), Some(20_480_000_000));
        assert_eq!(available_in("nonsense"), None);
    }
}
