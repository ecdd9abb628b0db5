//! The same topology gives the same bits, and the number of workers changes nothing but the time.

use crate::program::{losses, node, run, steps, succeed, summary};

#[test]
fn the_same_topology_gives_the_same_bits() {
    let folders = tempfile::tempdir().unwrap();
    let runs = ["a", "b"].map(|name| folders.path().join(name));
    for folder in &runs {
        succeed(run(folder, &[], &[]));
    }
    assert_eq!(steps(&runs[0]), steps(&runs[1]));
    assert_eq!(summary(&runs[0])["parameters_sha256"], summary(&runs[1])["parameters_sha256"]);
}

#[test]
fn the_number_of_workers_does_not_change_the_curve() {
    let folders = tempfile::tempdir().unwrap();
    let words =
        [("split 1", 64), ("split 2", 32), ("accum 2 | split 2", 16), ("accum 4", 16), ("split 4", 16)];
    let mut curves = vec![];
    for (i, (word, batch)) in words.iter().enumerate() {
        let folder = folders.path().join(i.to_string());
        let word = format!("schedule.word={word} | step adam(1e-3)");
        succeed(run(&folder, &[&word, &format!("data.batch={batch}"), "job.steps=100"], &[]));
        curves.push(losses(&folder));
    }
    assert!(curves[0][99] < 0.6 * curves[0][0]);
    for (curve, (word, _)) in curves.iter().zip(words) {
        let relative = (curve[99] - curves[0][99]).abs() / curves[0][99];
        assert!(relative <= 1e-5, "{word}: {relative}");
    }
}

#[test]
fn an_exact_order_gives_the_same_bits_for_any_number_of_workers() {
    let folders = tempfile::tempdir().unwrap();
    let run_of = |name: &str, folds: &str, steps: u32, more: &[&str]| {
        let folder = folders.path().join(name);
        let word = format!("schedule.word={folds} order=exact | step adam(1e-3) clip=0.5");
        succeed(run(&folder, &[&word, "data.batch=4", &format!("job.steps={steps}")], more));
        summary(&folder)["parameters_sha256"].clone()
    };
    let one = run_of("one", "accum 30 | split 1", 12, &[]);
    for (name, folds) in
        [("two", "accum 15 | split 2"), ("three", "accum 10 | split 3"), ("five", "accum 6 | split 5")]
    {
        assert_eq!(run_of(name, folds, 12, &[]), one, "{folds}");
    }
    // The scale of the sums is part of the state.
    run_of("twice", "accum 10 | split 3", 7, &[]);
    assert_eq!(run_of("twice", "accum 10 | split 3", 12, &["--resume"]), one);
}

#[test]
fn a_run_leaves_what_it_promises_and_can_be_evaluated() {
    let folders = tempfile::tempdir().unwrap();
    let folder = folders.path().join("run");
    succeed(run(&folder, &[], &[]));
    for file in ["events.ndjson", "loss.png", "reconstruction.png", "summary.json", "topology.toml"] {
        assert!(folder.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    let path = folder.to_str().unwrap();
    let json: serde_json::Value = serde_json::from_str(&succeed(node(&["eval", path, "--json"]))).unwrap();
    assert_eq!(json["samples"], 10_000);
    // 0.3 of the pixels masked: a number of the data, not of the model.
    assert!((json["psnr_corrupted"].as_f64().unwrap() - 15.03).abs() < 0.05, "{json}");
    for key in ["loss", "mse", "psnr", "ssim", "ssim_corrupted", "mse_corrupted"] {
        assert!(json[key].as_f64().unwrap().is_finite(), "{key}");
    }
    assert!(succeed(node(&["eval", path])).contains("PSNR"));
}

#[test]
fn losses_kinds_and_models_of_every_sort_run() {
    let folders = tempfile::tempdir().unwrap();
    let sorts: [&[&str]; 6] = [
        &["model.tied=true", "model.activation=tanh"],
        &["model.loss=mse", "model.activation=sigmoid"],
        &[
            "model.output=linear",
            "model.loss=mse",
            "schedule.word=split 2 | step sgd(0.1, momentum=0.9, nesterov)",
        ],
        &["model.emphasis_corrupted=2.0", "data.corruption.kind=salt_and_pepper"],
        &[
            "data.corruption.kind=gaussian",
            "data.corruption.fresh=false",
            "schedule.lr=cosine",
            "schedule.warmup_steps=5",
        ],
        &["schedule.word=split 2 | step adamw(1e-3, wd=0.01) clip=1.0", "data.shuffle=false"],
    ];
    for (i, settings) in sorts.iter().enumerate() {
        let folder = folders.path().join(i.to_string());
        succeed(run(&folder, settings, &[]));
        let losses = losses(&folder);
        assert!(losses[119] < losses[0], "{settings:?}: {} to {}", losses[0], losses[119]);
    }
}
