//! Files against Rust: the examples, the builder, what is written, and what is generated.

use std::path::{Path, PathBuf};

use super::super::{json_schema, key::Key, reference, sections::SECTIONS};
use super::*;

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn example(path: &str) -> Topology {
    let loaded = Topology::from_file(&in_project(path), &[]).unwrap();
    loaded.compile(&Kinds::stock()).unwrap().topology().clone()
}

#[test]
fn the_examples_equal_their_builders() {
    let mlp = Topology::new("mnist-mlp")
        .mlp([784, 512, 64, 512, 784])
        .masking(0.3)
        .schedule("split 2 | step adam(1e-3)")
        .batch(128)
        .steps(2000);
    assert_eq!(example("examples/mnist-mlp/topology.toml"), mlp);
    let conv = Topology::new("mnist-conv")
        .conv()
        .gaussian(0.4)
        .fixed_noise()
        .schedule("split 2 | step adam(1e-3)")
        .batch(64)
        .epochs(10.0);
    assert_eq!(example("examples/mnist-conv/topology.toml"), conv);
    assert_eq!(conv.compile(&Kinds::stock()).unwrap().steps(60_000), 4688); // the last one half full
}

#[test]
fn what_is_written_reads_back_equal() {
    for topology in [
        Topology::default(),
        Topology::new("a")
            .epochs(0.1)
            .seed(7)
            .limit(3)
            .data_path("a \"b\"\n")
            .mse()
            .salt_and_pepper(1.0),
        Topology::new("b")
            .conv()
            .no_corruption()
            .cosine(0.1)
            .warmup(5)
            .checkpoint_every(0),
        Topology::new("c").decay(10, 0.5).mlp([4, 2, 4]),
    ] {
        let read = read(&topology.to_toml()).unwrap();
        assert_eq!(read.topology, topology);
        read.compile(&Kinds::stock()).unwrap();
        let json = serde_json::to_string(&topology).unwrap();
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
    assert!(!Topology::new("b").conv().to_toml().contains("layers"));
    assert!(Topology::default().to_toml().contains("[data.corruption]"));
}

#[test]
fn every_default_obeys_its_own_rule() {
    let defaults = Topology::defaults();
    let all: Vec<&Key> = SECTIONS.iter().flat_map(|s| s.keys).collect();
    for key in &all {
        if let Some(value) = super::super::tree::lookup(&defaults, &key.dotted()) {
            assert!(key.rule.flaws(value).is_empty(), "{}", key.dotted());
        }
        assert!(
            !key.doc.is_empty() && key.doc.trim().ends_with('.'),
            "{}",
            key.dotted()
        );
    }
    let exists = |name: &str| all.iter().any(|k| k.dotted() == name);
    assert!(
        all.iter()
            .all(|k| k.only_with.is_none_or(|(s, _)| exists(s)) && k.instead_of.is_none_or(exists))
    );
}

#[test]
fn the_schema_names_every_key() {
    let schema = json_schema();
    for key in SECTIONS.iter().flat_map(|s| s.keys) {
        let path = format!(
            "/properties/{}/properties/{}",
            key.section.replace('.', "/properties/"),
            key.name
        );
        let found = schema.pointer(&path).unwrap();
        assert_eq!(found["description"], key.doc.trim());
    }
    assert_eq!(
        schema.pointer("/properties/job/properties/steps/default"),
        Some(&1000.into())
    );
}

#[test]
fn the_reference_is_up_to_date() {
    let path = in_project("docs/topology.md");
    if std::env::var_os("DAE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        reference(),
        "docs/topology.md is out of date: run this test with DAE_BLESS=1"
    );
}
