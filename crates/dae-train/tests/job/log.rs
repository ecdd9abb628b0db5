//! What a run's event log says.

use serde_json::Value;
use std::path::Path;

/// The lines of `events.ndjson`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log(Vec<String>);

/// One committed step, as its line says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub step: u64,
    pub loss: f64,
    pub samples: u64,
    pub lr: f64,
}

impl Log {
    pub fn read(path: &Path) -> Self {
        Self(std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect())
    }

    /// The lines of one type, as they stand there.
    pub fn lines(&self, kind: &str) -> Vec<&str> {
        let head = format!("{{\"type\":\"{kind}\",");
        self.0.iter().map(String::as_str).filter(|line| line.starts_with(&head)).collect()
    }

    /// The events of one type.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.lines(kind).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The types of the lines that are no steps, in order.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |line: &String| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["type"].as_str().unwrap().to_owned()
        };
        self.0.iter().map(kind).filter(|kind| kind != "step").collect()
    }

    /// The committed steps; asserts that they follow each other from 1 on.
    pub fn steps(&self) -> Vec<Step> {
        let steps: Vec<_> = self.events("step").iter().map(step).collect();
        for (i, step) in steps.iter().enumerate() {
            assert_eq!(step.step, i as u64 + 1, "steps follow each other");
        }
        steps
    }
}

fn step(event: &Value) -> Step {
    Step {
        step: event["step"].as_u64().unwrap(),
        loss: event["loss"].as_f64().unwrap(),
        samples: event["samples"].as_u64().unwrap(),
        lr: event["lr"].as_f64().unwrap(),
    }
}
