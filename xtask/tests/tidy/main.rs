//! The house rules that a compiler does not know. Each rule is a pure function, tested on a made-up bad input, and
//! then held against the whole tree.
//!
//! | module | what it holds |
//! |---|---|
//! | [`edges`] | which crate may depend on which, and who owns which outside crate |
//! | [`text`] | rules about one file: its path and its text |
//! | [`words`] | finding a word as a word |
//! | [`tree`] | the files and packages of this workspace |
mod edges;
mod text;
mod tree;
mod words;

#[test]
fn crates_depend_downwards_only() {
    report(edges::findings(&tree::packages()));
}

#[test]
fn every_file_keeps_the_rules() {
    let files = tree::files();
    assert!(files.iter().any(|(path, _)| path == "xtask/src/main.rs"), "the tree was not found");
    report(files.iter().flat_map(|(path, text)| text::findings(path, text)).collect());
}

fn report(findings: Vec<String>) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
