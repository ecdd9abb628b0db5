//! What the hosts of a job do: train, or measure the links between them.

use serde::{Deserialize, Serialize};

/// What the hosts of a job do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// They train: the resolved topology, TOML.
    Train(String),
    /// They measure.
    Bench(Bench),
}

impl Work {
    /// The longest topology, in bytes: it travels with the assignment.
    const TOPOLOGY: usize = 32 << 10;

    /// Looks whether it may be done.
    ///
    /// # Errors
    /// What is too much of it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Train(topology) if topology.len() > Self::TOPOLOGY => Err(format!(
                "the topology has {} bytes; over several nodes it may have {}",
                topology.len(),
                Self::TOPOLOGY
            )),
            Self::Train(_) => Ok(()),
            Self::Bench(bench) => bench.check(),
        }
    }
}

/// What is measured between the hosts of a job: the links, and sums over them. What is found, the first host writes as it is
/// found, a [`Finding`] a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// Bytes of f32 of the sums, each by every algorithm; the links are measured in any case.
    pub sizes: Vec<u64>,
    /// Whether numbers travel unsealed.
    pub plain: bool,
}

impl Bench {
    /// Sizes at most.
    const SIZES: usize = 16;
    /// The largest: every host has it twice in memory.
    const BYTES: u64 = 1 << 30;

    fn check(&self) -> Result<(), String> {
        if self.sizes.len() > Self::SIZES {
            return Err(format!("{} sizes are to be measured; {} at most", self.sizes.len(), Self::SIZES));
        }
        match self.sizes.iter().find(|bytes| **bytes > Self::BYTES || **bytes < 4 || **bytes % 4 != 0) {
            Some(bytes) => Err(format!(
                "{bytes} bytes are no size to measure: whole numbers of 4 bytes are summed, {} bytes at most",
                Self::BYTES
            )),
            None => Ok(()),
        }
    }
}

/// What was found between the hosts of a job, in seconds and bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// What all links can do at once, by the worst of all hosts: what `algo=auto` reckons with.
    Together {
        /// How long a message takes that holds next to nothing.
        latency_s: f64,
        /// How much longer it takes if one more goes to another host at the same time.
        message_s: f64,
        /// How much longer a byte makes it.
        seconds_per_byte: f64,
    },
    /// What the link between two hosts can do alone.
    Link {
        /// Their nodes.
        nodes: [String; 2],
        /// As above.
        latency_s: f64,
        /// As above, while the other direction is as busy.
        seconds_per_byte: f64,
    },
    /// How long an all-reduce takes, until the slowest host has its sum.
    AllReduce {
        /// The bytes that are summed.
        bytes: u64,
        /// The algorithm, as schedules call it.
        algorithm: String,
        /// How often it was done.
        rounds: u64,
        /// The time in the middle.
        median_s: f64,
        /// The shortest.
        fastest_s: f64,
        /// What was expected, from what all links can do at once.
        expected_s: f64,
    },
    /// Which algorithm `auto` takes.
    Auto {
        /// For so many bytes.
        bytes: u64,
        /// The algorithm.
        algorithm: String,
        /// A sentence: what was expected of each.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused() {
        let bench = |sizes: &[u64]| Work::Bench(Bench { sizes: sizes.to_vec(), plain: false }).check();
        assert_eq!((bench(&[]), bench(&[4 << 10, 64 << 20])), (Ok(()), Ok(())));
        for sizes in [&[0][..], &[6], &[(1 << 30) + 4], &[u64::MAX], &[4; 17]] {
            assert!(bench(sizes).is_err(), "{sizes:?}");
        }
        assert_eq!(Work::Train("t".repeat(32 << 10)).check(), Ok(()));
        assert!(Work::Train("t".repeat((32 << 10) + 1)).check().unwrap_err().contains("32769 bytes"));
    }

    #[test]
    fn a_finding_is_a_line() {
        let found = Finding::Auto { bytes: 4096, algorithm: "direct".into(), why: "it costs least".into() };
        let line = serde_json::to_string(&found).unwrap();
        assert_eq!(line, r#"{"auto":{"bytes":4096,"algorithm":"direct","why":"it costs least"}}"#);
        assert_eq!(serde_json::from_str::<Finding>(&line).unwrap(), found);
        assert!(serde_json::from_str::<Finding>("a host begins").is_err());
    }
}
