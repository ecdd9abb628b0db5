//! What a machine takes for a gradient is measured, and what a schedule costs is worked out from it.

use crate::program::{SMALL, node, succeed};
use serde_json::Value;
use std::fs;

#[test]
fn what_was_measured_of_a_model_is_what_a_schedule_is_priced_by() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("compute.json");
    let mut measure = node(&["bench", "compute", "examples/mnist-mlp/topology.toml", "--batches", "16,32"]);
    measure.arg("--out").arg(&file);
    for setting in SMALL {
        measure.args(["--set", setting]);
    }
    let table = succeed(measure);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&written["version"], &written["model"]), (&1.into(), &"mlp".into()), "{written:#}");
    let gradients = written["gradients"].as_array().unwrap();
    let sizes: Vec<_> = gradients.iter().filter_map(|g| g["batch"].as_u64()).collect();
    assert_eq!(sizes, [16, 32]);
    let figures = gradients.iter().flat_map(|g| ["median_s", "fastest_s", "sample_s"].map(|name| &g[name]));
    assert!(figures.into_iter().all(|s| s.as_f64() > Some(0.0)), "{written:#}");
    assert!(written["optimizer"]["parameter_s"].as_f64() > Some(0.0), "{written:#}");
    assert!(table.contains("BATCH") && table.contains("a parameter"), "{table}");

    let parameters = written["parameters"].to_string();
    let mut price = node(&["schedule", "cost", "split 4 @cluster | step adam", "--batch", "32", "--json"]);
    price.args(["--model-params", &parameters]).arg("--measured").arg(&file);
    let cost: Value = serde_json::from_str(&succeed(price)).unwrap();
    assert_eq!(cost["words"][0]["compute_s"], gradients[1]["median_s"], "{cost:#}");
    assert_eq!(cost["supposed"], Value::Array(vec![]), "{cost:#}");
}
