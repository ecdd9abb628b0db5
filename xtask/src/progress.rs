//! Progress bars on standard error; they draw nothing when it is not a terminal.
use indicatif::{ProgressBar, ProgressStyle};

/// A bar of bytes, or a count of them while the total is unknown.
pub fn bytes(what: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{msg} {bar:20} {bytes}/{total_bytes} {eta}"),
        None => (ProgressBar::new_spinner(), "{msg} {bytes} {bytes_per_sec}"),
    };
    styled(bar, template, what)
}

/// A bar of things done.
pub fn count(what: &str, total: u64) -> ProgressBar {
    styled(ProgressBar::new(total), "{msg} {bar:20} {pos}/{len} {eta}", what)
}

fn styled(bar: ProgressBar, template: &str, what: &str) -> ProgressBar {
    if bar.is_hidden() {
        eprintln!("{what}");
    }
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_message(what.to_owned())
}
