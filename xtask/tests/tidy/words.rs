//! Finding a word as a word: `act` is not in `exact`, and a crate's name is not in a longer path.

/// The places where `needle` stands with no letter, digit or underscore before it.
pub fn starts<'a>(line: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    line.match_indices(needle)
        .map(|(at, _)| at)
        .filter(|&at| !line[..at].chars().next_back().is_some_and(in_word))
}

/// Whether the line has `needle` as a whole word.
pub fn has(line: &str, needle: &str) -> bool {
    starts(line, needle).any(|at| !line[at + needle.len()..].chars().next().is_some_and(in_word))
}

/// Whether a line of Rust uses the crate: by a path that starts with it, or by a `use` of it.
pub fn uses_crate(line: &str, name: &str) -> bool {
    let path = format!("{name}::");
    starts(line, &path).any(|at| !line[..at].ends_with("::")) || has(line, &format!("use {name}"))
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn words_are_whole() {
    assert!(has("a act b", "act") && has("act", "act"));
    assert!(!has("exact", "act") && !has("actx", "act") && !has("a_act", "act"));
}

#[test]
fn a_crate_is_used_by_path_or_by_use() {
    for line in ["let a = x::Tensor::new();", "use x;", "use x as y;", "pub use x::{a, b};", "#[x::main]"] {
        assert!(uses_crate(line, "x"), "{line}");
    }
    for line in ["max::Tensor", "use xy;", "dae::x::Tensor", "x: u32", "// on x"] {
        assert!(!uses_crate(line, "x"), "{line}");
    }
}
