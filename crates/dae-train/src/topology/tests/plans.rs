//! What a plan says.

use proptest::prelude::*;

use super::super::DataFacts;
use super::*;

const WORD: &str = "[schedule]\nword = \"accum 2 | split 3 | step adam(1e-3) clip=1\"\n";

#[test]
fn the_arithmetic_of_a_run() {
    let p = plan(&format!("{WORD}[data]\nbatch = 10\nlimit = 1000\n[job]\nsteps = 7\nseed = 9"));
    assert_eq!((p.accum(), p.workers(), p.batch(), p.global_batch()), (2, 3, 10, 60));
    assert_eq!((p.steps(500), p.total_samples(500), p.samples(500), p.samples(5000)), (7, 420, 500, 1000));
    assert_eq!(
        (p.seed(), p.clip(), p.optimizer()),
        (9, Some(1.0), Some(&dae_schedule::Optimizer::adam(1e-3)))
    );
    let p = plan(&format!("{WORD}[data]\nbatch = 10\n[job]\nepochs = 2.5"));
    assert_eq!((p.total_samples(100), p.steps(100)), (250, 5)); // four whole steps, and one of ten samples
    assert_eq!(p.steps(0), 1);
}

#[test]
fn a_plan_for_a_cluster_says_how_many_nodes_and_is_not_for_one() {
    let p =
        plan("[schedule]\nword = \"split 2 @node | split 3 @cluster | step adam\"\n[placement]\nthreads = 4");
    assert_eq!((p.nodes(), p.workers_per_node(), p.workers(), p.threads_per_worker()), (3, 2, 6, 4));
    let error = p.fit_one_node().unwrap_err();
    let problem = &error.problems()[0];
    assert_eq!((problem.code(), problem.key()), ("needs-a-cluster", "schedule.word"));
    assert!(problem.fix().contains("--cluster NAME"), "{}", problem.fix());
    let one = plan("[schedule]\nword = \"split 2 @node | split 1 @cluster | step adam\"");
    assert!(one.fit_one_node().is_ok());
}

proptest! {
    #[test]
    fn steps_cover_the_epochs_and_no_more(samples in 1usize..10_000, epochs in 0.1f64..20.0, batch in 1u32..300) {
        let p = Topology::new("p").epochs(epochs).batch(batch).compile(&Kinds::stock()).unwrap();
        let (steps, total, whole) = (p.steps(samples), p.total_samples(samples), p.global_batch() as u64);
        prop_assert!((total as f64 - epochs * samples as f64).abs() <= 0.5);
        prop_assert!(steps * whole >= total && (steps - 1) * whole <= total);
    }
}

#[test]
fn what_does_not_fit_the_data_is_shown_in_the_file() {
    let fit = |text: &str, samples: usize, shape: &[usize]| {
        let error = plan(text).fit(&DataFacts { samples, shape: shape.to_vec() }).err()?;
        let p = &error.problems()[0];
        assert_eq!((error.problems().len(), p.code()), (1, "does-not-fit-the-data"));
        Some((p.key().to_owned(), p.excerpt().unwrap_or("-").to_owned(), p.fix().to_owned()))
    };
    let at = |found: Option<(String, String, String)>, key: &str, excerpt: &str, fix: &str| {
        let found = found.unwrap();
        assert!(found.0 == key && found.1 == excerpt && found.2.contains(fix), "{found:?}");
    };
    assert_eq!(fit("", 10, &[784]), None);
    assert_eq!(fit("", 10, &[1, 28, 28]), None);
    at(fit("[data]\nlimit = 11", 10, &[784]), "data.limit", "11", "at most 10");
    at(
        fit(WORD, 2, &[784]),
        "schedule.word",
        "\"accum 2 | split 3 | step adam(1e-3) clip=1\"",
        "at most 2 workers",
    );
    at(fit("", 0, &[784]), "schedule.word", "-", "samples in it");
    at(
        fit("[model]\nlayers = [784, 5, 784]", 9, &[3, 4]),
        "model.layers",
        "[784, 5, 784]",
        "layers = [12, 5, 12]",
    );
    at(fit("", 9, &[usize::MAX, 2]), "model.layers", "-", "layers");
    const CONV: &str = "[model]\nkind = \"conv\"";
    assert_eq!(fit(CONV, 9, &[1, 28, 32]), None);
    for shape in [&[784][..], &[3, 28, 28], &[1, 28, 30], &[1, 0, 28], &[]] {
        at(fit(CONV, 9, shape), "model.kind", "\"conv\"", "mlp");
    }
}

#[test]
fn a_resumed_run_may_differ_in_free_keys_only() {
    let base = plan("");
    for free in [
        "[job]\nname = \"b\"\nsteps = 9\nrestarts = 0\nstall_timeout_s = 1",
        "[job]\nepochs = 3",
        "[data]\npath = \"x\"\nprefetch = 9",
        "[checkpoint]\nevery = 1\nkeep = 1",
        "[placement]\nthreads = 2\npin = true",
        "[schedule]\nword = \"split 1   |  step adam(0.001)\"",
    ] {
        let other = plan(free);
        assert_eq!(base.fingerprint(), other.fingerprint(), "{free}");
        assert_eq!(base.differences(other.topology()), [""; 0], "{free}");
    }
    for (bound, line) in [
        ("[job]\nseed = 1", "job.seed: 0 here, 1 in the checkpoint"),
        ("[data]\nlimit = 5", "data.limit: not given here, 5 in the checkpoint"),
        (
            "[model]\nlayers = [784, 256, 784]",
            "model.layers: [784, 512, 64, 512, 784] here, [784, 256, 784] in the checkpoint",
        ),
    ] {
        let other = plan(bound);
        assert_ne!(base.fingerprint(), other.fingerprint(), "{bound}");
        assert_eq!(base.differences(other.topology()), [line]);
    }
    // Actors look on; what they see of a run does not change it.
    let actor = Topology::default().actor("alarm", toml::Table::new());
    assert_eq!(base.differences(&actor), [""; 0]);
}
