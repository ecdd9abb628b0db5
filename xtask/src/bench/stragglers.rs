//! What slow workers do to schedules, measured and predicted.
use clap::Args;
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

/// Eight workers, one of them or all now and then four times slower: measured, beside what `schedule cost` predicts.
#[derive(Args)]
pub struct Stragglers {}

impl Stragglers {
    /// Builds, measures, prints.
    pub fn run(&self, workspace: &Workspace) -> Outcome {
        let example = "bench_stragglers";
        step::run(workspace.cargo(&["build", "--release", "-p", "dae-train", "--example", example]))?;
        eprintln!("measuring, for some three minutes");
        let printed = step::read(workspace.program(&format!("examples/{example}")))?;
        print!("{printed}");
        let rows = printed.lines().map(Row::of).collect::<Option<Vec<_>>>();
        let rows =
            rows.ok_or_else(|| Failure::says(format!("{example} printed something else than figures")))?;
        eprint!("\n{}", table(&rows));
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
struct Row {
    word: String,
    slow: String,
    measured: f64,
    predicted: f64,
}

impl Row {
    fn of(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let number = |key: &str| value[key].as_f64();
        Some(Self {
            word: text("word")?,
            slow: text("slow")?,
            measured: number("slowdown")?,
            predicted: number("predicted")?,
        })
    }

    /// By how much a step was slower than predicted, as a part of that.
    fn error(&self) -> f64 {
        self.measured / self.predicted - 1.0
    }
}

/// How many times as long a step took as without a slow worker.
fn table(rows: &[Row]) -> String {
    let mut text =
        format!("{:<56}{:<12}{:>9}{:>11}{:>8}\n", "word", "slow", "measured", "predicted", "error");
    for row in rows {
        let Row { word, slow, measured, predicted } = row;
        let error = 100.0 * row.error();
        text += &format!("{word:<56}{slow:<12}{measured:>9.2}{predicted:>11.2}{error:>+7.1}%\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_row_with_its_error() {
        let line = r#"{"what":"stragglers","word":"step raw | join 8","slow":"one:4","slowdown":4.2,"predicted":4.0}"#;
        let row = Row::of(line).unwrap();
        assert!((row.error() - 0.05).abs() < 1e-12, "{row:?}");
        let text = table(&[row]);
        assert_eq!(text.lines().nth(1).unwrap().split_whitespace().last(), Some("+5.0%"));
        assert_eq!(Row::of("{}"), None);
    }
}
