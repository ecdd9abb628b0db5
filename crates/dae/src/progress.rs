//! The progress of a run on stderr: a bar, or plain lines where there is no terminal.

use dae_train::board::Board;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// How often the bar moves.
const REFRESH: Duration = Duration::from_millis(100);
/// How often a plain line is written.
const LINE: Duration = Duration::from_secs(5);

/// A bar over the steps of a run.
pub(crate) fn bar(first: u64, total: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target).with_position(first);
    let template = "{bar:32} step {pos}/{len}  {msg}  {eta} left";
    // A template that does not parse leaves the bar as it is by default.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.reset_eta();
    bar
}

/// Warnings and errors go to stderr, more of them if `RUST_LOG` says so.
pub(crate) fn log_above(bar: &ProgressBar) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(AboveBar(bar.clone()));
    let subscriber = subscriber.with_ansi(std::io::stderr().is_terminal());
    // A program that has set up its own keeps it.
    let _ = subscriber.without_time().with_target(false).try_init();
}

/// Follows a board until the run is over.
pub(crate) async fn follow(board: Arc<Board>, bar: ProgressBar) {
    let mut ticks = tokio::time::interval(REFRESH);
    let mut speed = Speed::new();
    let mut line = Instant::now();
    loop {
        ticks.tick().await;
        let progress = board.read();
        let Some(loss) = progress.loss else { continue };
        let message = format!("loss {loss:.4}  {} samples/s", thousands(speed.of(progress.samples)));
        if bar.is_hidden() {
            if line.elapsed() >= LINE {
                line = Instant::now();
                bar.set_position(progress.step);
                let (total, left) = (bar.length().unwrap_or_default(), bar.eta().as_secs());
                say(&format!("step {}/{total}  {message}  {left} s left", progress.step));
            }
        } else {
            bar.set_position(progress.step);
            bar.set_message(message);
        }
    }
}

/// Writes a line on stderr. If nobody is there to read it, that is no reason to stop.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A speed over the last seconds.
pub(crate) struct Speed {
    since: Option<(Instant, u64)>,
    value: f64,
}

impl Speed {
    pub(crate) fn new() -> Self {
        Self { since: None, value: 0.0 }
    }

    pub(crate) fn of(&mut self, samples: u64) -> f64 {
        let (start, before) = *self.since.get_or_insert((Instant::now(), samples));
        let seconds = start.elapsed().as_secs_f64();
        if seconds > 0.0 {
            self.value = samples.saturating_sub(before) as f64 / seconds;
        }
        if seconds > 3.0 {
            self.since = Some((Instant::now(), samples));
        }
        self.value
    }
}

/// A number with its thousands apart.
pub(crate) fn thousands(x: f64) -> String {
    let digits = format!("{x:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && c.is_ascii_digit() {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Where the log goes: to stderr, above the bar.
#[derive(Clone)]
struct AboveBar(ProgressBar);

impl Write for AboveBar {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.suspend(|| std::io::stderr().write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for AboveBar {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0.0, 999.4, 1000.0, 1234567.0].map(thousands),
            ["0", "999", "1,000", "1,234,567"].map(String::from)
        );
    }
}
