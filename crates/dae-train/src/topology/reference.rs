//! The table of keys as a page for people: `docs/topology.md`.

use std::fmt::Write;

use super::document::Topology;
use super::key::Key;
use super::sections::SECTIONS;
use super::tree::lookup;

const HEAD: &str = "\
# The topology file

<!-- Generated from the table of keys in crates/dae-train/src/topology/sections.rs; DAE_BLESS=1 writes it anew. -->

A topology is a TOML file. Every key has a default, so the empty file is a topology: the autoencoder of
`examples/mnist-mlp` on one worker. Any key can be overridden on the command line, `--set job.steps=100`; of
`job.steps` and `job.epochs`, an override of one replaces the other.

A key marked *free* may change when a run is resumed from a checkpoint; all others must be equal.
";

const TAIL: &str = "
## [actors.NAME]

One actor of a kind your program registers, NAME, with settings of its own: dae reads none of them.
";

/// The reference of all sections and keys, in Markdown.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    let defaults = Topology::defaults();
    for section in &SECTIONS {
        let head = "| key | takes | default | what it is |\n|---|---|---|---|";
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            page,
            "\n## [{}]\n\n{}\n\n{head}",
            section.path,
            section.doc.trim()
        );
        for key in section.keys {
            let default = match lookup(&defaults, &key.dotted()) {
                Some(toml::Value::Table(_)) | None => "none".into(),
                // A bar ends a cell of the table even between backquotes.
                Some(value) => format!("`{value}`").replace('|', "\\|"),
            };
            let takes = key.rule.wanted();
            let _ = writeln!(page, "| `{}` | {takes} | {default} | {} |", key.name, about(key));
        }
    }
    page + TAIL
}

fn about(key: &Key) -> String {
    let mut about = key.doc.trim().to_owned();
    if let Some((selector, value)) = key.only_with {
        let _ = write!(about, " Only with `{selector} = \"{value}\"`.");
    }
    if key.free {
        about += " *Free.*";
    }
    about
}
