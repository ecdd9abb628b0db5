//! The text of an override, as far as it can be judged without a topology.

/// The text behind `--set`, if it has the form `KEY=VALUE`: for command lines, which can then show their usage.
///
/// # Errors
/// The sentence that says how to write it.
pub fn assignment(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((key, _)) if !key.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("write KEY=VALUE, such as data.batch=64".to_owned()),
    }
}
