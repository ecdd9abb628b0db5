//! [`Measured`]: figures that `bench` has written, in place of those that are supposed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dae_schedule::cost::{Facts, Link};
use dae_train::exit::Exit;
use serde::Deserialize;

use super::{MAX_FILE_BYTES, reason};
use crate::exit::Failure;

/// Figures that were measured.
#[derive(Debug, Default, PartialEq)]
pub struct Measured {
    /// What all links between nodes can do at once.
    pub link: Option<Link>,
    /// The rate of the optimizer's passes over memory.
    pub memory_bytes_per_s: Option<f64>,
    /// How long a gradient takes, by its samples, the fewest first.
    gradients: Vec<(u64, f64)>,
    /// The parameters of the model whose gradient it was.
    parameters: Option<u64>,
}

/// What is read of such a file, all of it in seconds and bytes; more may be there.
#[derive(Debug, Deserialize)]
struct Written {
    version: u32,
    together: Option<Together>,
    #[serde(default)]
    gradients: Vec<Gradient>,
    optimizer: Option<Optimizer>,
    parameters: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Together {
    latency_s: f64,
    message_s: f64,
    bytes_per_s: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Gradient {
    batch: u64,
    median_s: f64,
}

#[derive(Debug, Deserialize)]
struct Optimizer {
    bytes_per_s: f64,
}

impl Measured {
    /// What these files say; a later one goes before an earlier one.
    pub fn read(files: &[PathBuf]) -> Result<Self, Failure> {
        let mut measured = Self::default();
        for file in files {
            let failure =
                |exit, why: String| Failure::new(exit, miette::miette!("{}: {why}", file.display()));
            let text = text(file).map_err(|why| failure(Exit::Failed, why))?;
            measured.add(&text).map_err(|why| failure(Exit::Invalid, why))?;
        }
        Ok(measured)
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        const FROM: &str = "give a file that `dae-node bench net` or `bench compute` has written by --out";
        let written: Written = serde_json::from_str(text).map_err(|error| format!("{error}; {FROM}"))?;
        if written.version != 1 {
            return Err(format!("it is of version {}, and 1 is read; measure again", written.version));
        }
        let Written { together, gradients, optimizer, parameters, .. } = written;
        if together.is_none() && gradients.is_empty() && optimizer.is_none() {
            return Err(format!("nothing was measured in it, as with one node; {FROM}"));
        }
        if let Some(Together { latency_s, message_s, bytes_per_s }) = together {
            let bytes_per_s =
                bytes_per_s.ok_or("its links were too fast to tell; say what they do by --link")?;
            self.link = Some(Link { latency_s, bytes_per_s, message_s });
        }
        if !gradients.is_empty() {
            self.gradients = gradients.iter().map(|g| (g.batch, g.median_s)).collect();
            self.gradients.sort_by_key(|(batch, _)| *batch);
            self.gradients.dedup_by_key(|(batch, _)| *batch);
            self.parameters = parameters;
        }
        if let Some(optimizer) = optimizer {
            self.memory_bytes_per_s = Some(optimizer.bytes_per_s);
        }
        Ok(())
    }

    /// How long a gradient of so many samples takes: on the line between the two sizes that were measured next to it, or
    /// on the line from nothing through the nearest where it lies beyond all.
    pub fn compute_s(&self, batch: u64) -> Option<f64> {
        let (&first, &last) = (self.gradients.first()?, self.gradients.last()?);
        let at = batch as f64;
        let in_proportion = |(batch, s): (u64, f64)| s * at / (batch as f64).max(1.0);
        if batch > last.0 {
            return Some(in_proportion(last));
        }
        let above = self.gradients.iter().position(|(size, _)| *size >= batch)?;
        if self.gradients[above].0 == batch {
            return Some(self.gradients[above].1);
        }
        let Some(below) = above.checked_sub(1) else { return Some(in_proportion(first)) };
        let [(a, a_s), (b, b_s)] = [self.gradients[below], self.gradients[above]];
        Some(a_s + (b_s - a_s) * (at - a as f64) / (b - a) as f64)
    }

    /// A sentence, if the model that was measured is of another size than the one that is priced.
    pub fn other_model(&self, facts: &Facts) -> Option<String> {
        let parameters = self.parameters.filter(|parameters| *parameters != facts.params)?;
        let priced = facts.params;
        Some(format!("computing as was measured of a model of {parameters} parameters, not of {priced}"))
    }
}

fn text(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| format!("cannot be read: {}", reason(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NET: &str = r#"{"version": 1, "cluster": "lab", "links": [],
        "together": {"latency_s": 4e-5, "message_s": 2e-6, "bytes_per_s": 9e8}}"#;
    const COMPUTE: &str = r#"{"version": 1, "parameters": 100, "threads": 1,
        "gradients": [{"batch": 64, "median_s": 0.006}, {"batch": 32, "median_s": 0.004}],
        "optimizer": {"word": "adam", "bytes_per_s": 2e10}}"#;

    fn of(texts: &[&str]) -> Result<Measured, String> {
        let mut measured = Measured::default();
        texts.iter().try_for_each(|text| measured.add(text)).map(|()| measured)
    }

    #[test]
    fn files_say_what_was_measured_and_the_later_goes_before() {
        let both = of(&[NET, COMPUTE]).expect("read");
        assert_eq!(both.link, Some(Link { latency_s: 4e-5, bytes_per_s: 9e8, message_s: 2e-6 }));
        assert_eq!(both.memory_bytes_per_s, Some(2e10));
        let later = of(&[NET, &NET.replace("9e8", "1e9")]).expect("read");
        assert_eq!(later.link.expect("one").bytes_per_s, 1e9);
    }

    #[test]
    fn a_gradient_lies_between_those_that_were_measured() {
        let measured = of(&[COMPUTE]).expect("read");
        let at = |batch| measured.compute_s(batch).expect("measured");
        let near = |batch, s: f64| assert!((at(batch) - s).abs() < 1e-12, "{batch}: {}", at(batch));
        near(32, 0.004);
        near(48, 0.005);
        near(64, 0.006);
        near(16, 0.002);
        near(128, 0.012);
        assert_eq!(Measured::default().compute_s(32), None);
    }

    #[test]
    fn another_model_is_told() {
        let measured = of(&[COMPUTE]).expect("read");
        assert_eq!(measured.other_model(&Facts::of_params(100, 1)), None);
        let told = measured.other_model(&Facts::of_params(200, 1)).expect("told");
        assert!(told.contains("100 parameters, not of 200"), "{told}");
    }

    #[test]
    fn what_no_bench_has_written_is_refused() {
        let refused = |text: &str| of(&[text]).expect_err(text);
        assert!(refused("{").contains("bench net"));
        assert!(refused(r#"{"version": 2}"#).contains("version 2"));
        assert!(refused(r#"{"version": 1, "together": null}"#).contains("nothing was measured"));
        assert!(refused(&NET.replace("9e8", "null")).contains("--link"));
        assert!(Measured::read(&["/no/such/file".into()]).is_err());
    }
}
