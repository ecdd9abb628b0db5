//! Whatever a file holds, the answer is a topology or an error that can be shown.

use proptest::prelude::*;

use super::super::DataFacts;
use super::*;

/// Reads, compiles, fits, and shows whatever comes of it.
fn survive(text: &str, set: &[String]) {
    let shown = |e: TopologyError| format!("{:?}", miette::Report::new(e));
    let plan = match Topology::from_str("any", text, set) {
        Ok(loaded) => {
            let again = read(&loaded.topology.to_toml()).unwrap();
            assert_eq!(again.topology, loaded.topology);
            loaded.compile(&Kinds::stock()).map_err(shown)
        }
        Err(error) => Err(shown(error)),
    };
    if let Ok(plan) = plan {
        let _ = plan
            .fit(&DataFacts {
                samples: 1,
                shape: vec![2, 2],
            })
            .map_err(shown);
        let _ = (
            plan.steps(usize::MAX),
            plan.total_samples(usize::MAX),
            plan.fingerprint(),
        );
    }
}

/// Something like a value of a topology.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| format!("{x:e}")),
        any::<bool>().prop_map(|b| b.to_string()),
        "\"[a-z0-9|() \\\\-]{0,12}\"",
        "\\[[0-9, ]{0,12}\\]",
        Just("{ a = { b = 1 } }".to_owned()),
        prop::sample::select(vec![
            "\"idx\"",
            "\"conv\"",
            "\"step\"",
            "\"linear\"",
            "\"gaussian\"",
            "1979-05-27",
            "0",
            "1"
        ])
        .prop_map(String::from),
    ]
}

proptest! {
    #[test]
    fn any_text(text in any::<String>(), set in prop::collection::vec(any::<String>(), 0..3)) {
        survive(&text, &set);
    }

    #[test]
    fn any_values_of_known_keys(
        keys in prop::collection::vec((any::<prop::sample::Index>(), value()), 0..6),
        set in prop::collection::vec((any::<prop::sample::Index>(), value()), 0..3),
    ) {
        let names: Vec<_> = super::super::sections::SECTIONS.iter().flat_map(|s| s.keys).map(|k| k.dotted()).collect();
        let lines = |pairs: Vec<(prop::sample::Index, String)>| -> Vec<String> {
            pairs.into_iter().map(|(i, v)| format!("{} = {v}", names[i.index(names.len())])).collect()
        };
        survive(&lines(keys).join("\n"), &lines(set));
    }
}
