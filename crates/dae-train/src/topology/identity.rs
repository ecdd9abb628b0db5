//! What must be equal for a run to be resumed: its fingerprint, and the differences in words.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::document::Topology;
use super::plan::Plan;
use super::sections::SECTIONS;

impl Plan {
    /// A hash, in hexadecimal, of all that a resumed run must have in common with the one that wrote the
    /// checkpoint: the model, its loss, the data's kind and order, corruption, schedule, rates and seed.
    ///
    /// Free to change are the name and the length of the run, restarts and the stall timeout, the checkpoint
    /// section, the actors that look on, where the data lies and how far it is read ahead, and the placement: moving a run to another
    /// machine is what resuming is for. The schedule counts in its normal form, so that another spelling of the
    /// same word is the same run. Two things follow from this. Under `cosine` another length bends the rest of the
    /// curve; and another number of threads may round the last bits otherwise.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for (key, value) in bound(&self.topology) {
            hash.update(format!("{key} = {value}\n"));
        }
        hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// One line for each key of the fingerprint in which the other topology, a checkpoint's, differs.
    pub fn differences(&self, other: &Topology) -> Vec<String> {
        let (here, there) = (bound(&self.topology), bound(other));
        let keys: std::collections::BTreeSet<_> = here.keys().chain(there.keys()).collect();
        let said = |value: Option<&String>| value.map_or("not given".into(), String::clone);
        keys.into_iter()
            .filter(|key| here.get(*key) != there.get(*key))
            .map(|key| {
                format!("{key}: {} here, {} in the checkpoint", said(here.get(key)), said(there.get(key)))
            })
            .collect()
    }
}

/// The keys that must be equal, by dotted name, with their values in TOML.
fn bound(topology: &Topology) -> BTreeMap<String, String> {
    let mut topology = topology.clone();
    topology.actors.clear();
    if let Ok(word) = dae_schedule::parse(&topology.schedule.word) {
        topology.schedule.word = word.normal().to_string();
    }
    let mut keys = BTreeMap::new();
    flatten("", &Table::try_from(&topology).unwrap_or_default(), &mut keys);
    for key in SECTIONS.iter().flat_map(|s| s.keys).filter(|k| k.free) {
        keys.remove(&key.dotted());
    }
    keys
}

/// The leaves of nested tables. An empty table is none, so leaving one out is no difference.
fn flatten(path: &str, table: &Table, into: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let dotted = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            Value::Table(inner) => flatten(&dotted, inner, into),
            leaf => {
                into.insert(dotted, leaf.to_string());
            }
        }
    }
}
