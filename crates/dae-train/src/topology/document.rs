//! What a run is to be: the file's sections as plain fields, from a file, from text, or built in Rust.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::consistency;
use super::error::TopologyError;
use super::kinds::Kinds;
use super::loaded::Loaded;
use super::marks::Marks;
use super::plan::Plan;
use super::read::Reader;
use super::sections::{CheckpointSection, Data, Job, ModelSection, Placement, SECTIONS, ScheduleSection};
use super::tree::{lookup, remove};

/// The largest topology file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// A topology: what to train, on what, by which schedule, and where.
///
/// Its fields may hold anything; [`Topology::compile`] says whether it can be run. `Default` is the file with
/// nothing in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The run as a whole.
    pub job: Job,
    /// Where the samples come from.
    pub data: Data,
    /// The model and its loss.
    pub model: ModelSection,
    /// Who computes what and when.
    pub schedule: ScheduleSection,
    /// When the state is saved.
    pub checkpoint: CheckpointSection,
    /// Where workers compute.
    pub placement: Placement,
    /// The actors of user-registered kinds, by kind, with their settings.
    pub actors: BTreeMap<String, Table>,
}

impl Topology {
    /// Reads a topology file, then the overrides: each `key=value`, the value in TOML or else plain text.
    ///
    /// # Errors
    /// When the file cannot be read, is larger than 1 MiB or not UTF-8, or for everything wrong in it that can be
    /// seen without knowing the user's own kinds.
    pub fn from_file(path: &Path, set: &[String]) -> Result<Loaded, TopologyError> {
        let name = path.display().to_string();
        let unreadable = |reason: String, fix: &str| {
            let problem = Marks::default().problem("unreadable", "", format!("{name}: {reason}"), fix);
            TopologyError::of(&name, vec![problem])
        };
        let failed = |e: std::io::Error| unreadable(e.to_string(), "give the path of a topology file");
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(unreadable(
                "this is a folder".into(),
                "give the file in it, such as topology.toml",
            ));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LARGEST {
            return Err(unreadable(
                "larger than 1 MiB".into(),
                "is this a topology? it should be a short text",
            ));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            unreadable(
                format!("not UTF-8 from byte {at} on"),
                "save the file as UTF-8 text",
            )
        })?;
        Self::from_str(&name, &text, set)
    }

    /// Reads a topology from a text, shown under this name in errors; otherwise like [`Topology::from_file`].
    ///
    /// # Errors
    /// Everything wrong in it that can be seen without knowing the user's own kinds.
    pub fn from_str(name: &str, text: &str, set: &[String]) -> Result<Loaded, TopologyError> {
        let mut reader = Reader::new(Self::defaults());
        reader.file(name, text);
        set.iter().for_each(|s| reader.set(s));
        let Reader {
            table,
            marks,
            mut problems,
            ..
        } = reader;
        let topology = Self::deserialize(table).map_err(|e| {
            let problem = marks.problem(
                "unreadable",
                "",
                e.message(),
                "please report this as a bug of dae",
            );
            TopologyError::of(name, vec![problem])
        })?;
        if let Err(more) = consistency::check(&topology, &marks, None, &problems) {
            problems.extend(more);
        }
        match problems.is_empty() {
            true => Ok(Loaded::new(name, topology, marks)),
            false => Err(TopologyError::of(name, problems)),
        }
    }

    /// The whole topology as a file, defaults included; keys that mean nothing beside the others are left out.
    pub fn to_toml(&self) -> String {
        let Ok(mut table) = Table::try_from(self) else {
            // A number beyond TOML's 64 bits; it is written as it is, and refused where it is read.
            return toml::to_string(self).unwrap_or_default();
        };
        let (defaults, whole) = (Self::defaults(), table.clone());
        for key in SECTIONS.iter().flat_map(|s| s.keys) {
            let meant = |(selector, value): (&str, &str)| {
                lookup(&whole, selector).and_then(|v| v.as_str()) == Some(value)
            };
            let replaced = |other| lookup(&whole, other) != lookup(&defaults, other);
            let idle = key.only_with.is_some_and(|only| !meant(only)) || key.instead_of.is_some_and(replaced);
            let dotted = key.dotted();
            if idle && lookup(&whole, &dotted) == lookup(&defaults, &dotted) {
                remove(&mut table, &dotted);
            }
        }
        toml::to_string(&table).unwrap_or_default()
    }

    /// Checks the whole topology and makes it a plan.
    ///
    /// # Errors
    /// Everything that is wrong with it, shown in the text of [`Topology::to_toml`].
    pub fn compile(self, kinds: &Kinds) -> Result<Plan, TopologyError> {
        Self::from_str("the topology built in Rust", &self.to_toml(), &[])?.check(kinds)
    }

    /// The defaults as a table.
    pub(super) fn defaults() -> Table {
        Table::try_from(Self::default()).unwrap_or_default()
    }
}
