//! Tests of the topology as a whole.
//!
//! | module | what it tests |
//! |---|---|
//! | `reading` | unknown keys, types, ranges, syntax, overrides, files that are none |
//! | `meaning` | what must hold between keys, kinds, the schedule's place in its string |
//! | `plans` | steps, fit to the data, fingerprints, differences |
//! | `examples` | the example files, the builder, writing and reading back, schema, reference |
//! | `anything` | arbitrary text |
mod anything;
mod examples;
mod meaning;
mod plans;
mod reading;

use super::{Kinds, Loaded, Plan, Topology, TopologyError};

fn read(text: &str) -> Result<Loaded, TopologyError> {
    Topology::from_str("topology.toml", text, &[])
}

fn plan(text: &str) -> Plan {
    compiled(text).unwrap()
}

fn compiled(text: &str) -> Result<Plan, TopologyError> {
    read(text)?.compile(&Kinds::stock())
}

/// What is said of a topology that must fail: for each problem its key, its code, and the text under the caret.
fn said(result: Result<Plan, TopologyError>) -> Vec<(String, String, String)> {
    let error = result.unwrap_err();
    let said = |p: &super::Problem| (p.key().into(), p.code().into(), p.excerpt().unwrap_or("-").into());
    assert!(
        error
            .problems()
            .iter()
            .all(|p| !p.fix().is_empty() && !p.reason().is_empty())
    );
    error.problems().iter().map(said).collect()
}

/// Asserts that the topology has one problem: this key, this code, this text under the caret, this in the fix.
#[track_caller]
fn refused(text: &str, key: &str, code: &str, excerpt: &str, fix: &str) {
    let error = compiled(text).unwrap_err();
    let [problem] = error.problems() else {
        panic!("{text}: {:?}", error.problems())
    };
    let found = (problem.key(), problem.code(), problem.excerpt().unwrap_or("-"));
    assert_eq!(found, (key, code, excerpt), "{text}");
    assert!(problem.fix().contains(fix), "{text}: {}", problem.fix());
}

/// The same for each of the cases.
#[track_caller]
fn all_refused(cases: &[(&str, &str, &str, &str, &str)]) {
    cases
        .iter()
        .for_each(|(text, key, code, excerpt, fix)| refused(text, key, code, excerpt, fix));
}
