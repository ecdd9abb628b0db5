//! [`Found`]: what hosts that measure have found.

use dae_cluster::protocol::{Bench, Finding};

/// What hosts that measure have found, as far as it has come.
#[derive(Debug, Default)]
pub struct Found {
    /// What all links can do at once, by the worst of all nodes.
    pub together: Option<Can>,
    /// What the link between each two can do alone.
    pub links: Vec<([String; 2], Can)>,
    /// Sums of one size.
    pub sizes: Vec<Sums>,
}

/// What links can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Can {
    /// How long a message takes that holds next to nothing, in seconds.
    pub latency_s: f64,
    /// How much longer it takes if one more goes to another node at the same time, in seconds, where there are others.
    pub message_s: Option<f64>,
    /// Bytes a second each way while the other is as busy; none if they were too fast to tell.
    pub bytes_per_s: Option<f64>,
}

/// Sums of one size.
#[derive(Debug, Default)]
pub struct Sums {
    /// In bytes.
    pub bytes: u64,
    /// By each algorithm.
    pub by: Vec<Timed>,
    /// Which of them `auto` takes, and why.
    pub auto: Option<(String, String)>,
}

/// How long a sum took by one algorithm, in seconds.
#[derive(Debug)]
pub struct Timed {
    pub algorithm: String,
    pub rounds: u64,
    pub median_s: f64,
    pub fastest_s: f64,
    pub expected_s: f64,
}

impl Found {
    /// Takes a line of the job's log; false if it is none that tells of a finding.
    pub fn take(&mut self, line: &str) -> bool {
        let Ok(finding) = serde_json::from_str(line) else { return false };
        match finding {
            Finding::Together { latency_s, message_s, seconds_per_byte } => {
                self.together = Some(Can::new(latency_s, Some(message_s), seconds_per_byte));
            }
            Finding::Link { nodes, latency_s, seconds_per_byte } => {
                self.links.push((nodes, Can::new(latency_s, None, seconds_per_byte)));
            }
            Finding::AllReduce { bytes, algorithm, rounds, median_s, fastest_s, expected_s } => {
                self.of(bytes).by.push(Timed { algorithm, rounds, median_s, fastest_s, expected_s });
            }
            Finding::Auto { bytes, algorithm, why } => self.of(bytes).auto = Some((algorithm, why)),
        }
        true
    }

    fn of(&mut self, bytes: u64) -> &mut Sums {
        let at = self.sizes.iter().position(|sums| sums.bytes == bytes).unwrap_or_else(|| {
            self.sizes.push(Sums { bytes, ..Sums::default() });
            self.sizes.len() - 1
        });
        &mut self.sizes[at]
    }

    /// How many figures of such a measurement are not there.
    pub fn missing(&self, nodes: usize, bench: &Bench) -> usize {
        let links = (nodes * nodes.saturating_sub(1) / 2).saturating_sub(self.links.len());
        let found = |bytes: &u64| self.sizes.iter().find(|sums| sums.bytes == *bytes);
        // The algorithm that `auto` takes is one of those that were measured.
        let whole = |sums: &Sums| sums.chosen().is_some() && sums.by.len() == ALGORITHMS;
        let sizes = bench.sizes.iter().filter(|bytes| !found(bytes).is_some_and(whole)).count();
        usize::from(self.together.is_none()) + links + sizes
    }
}

/// The algorithms that every host measures.
const ALGORITHMS: usize = 5;

impl Sums {
    /// What was measured of the algorithm that `auto` takes.
    pub fn chosen(&self) -> Option<&Timed> {
        let (algorithm, _) = self.auto.as_ref()?;
        self.by.iter().find(|timed| timed.algorithm == *algorithm)
    }

    /// The algorithm that took least.
    pub fn best(&self) -> Option<&Timed> {
        self.by.iter().min_by(|a, b| a.median_s.total_cmp(&b.median_s))
    }
}

impl Can {
    fn new(latency_s: f64, message_s: Option<f64>, seconds_per_byte: f64) -> Self {
        let bytes_per_s = Some(seconds_per_byte.recip()).filter(|rate| rate.is_finite() && *rate > 0.0);
        Self { latency_s, message_s, bytes_per_s }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// As two hosts find it, for sums of 4 KiB.
    pub(in crate::bench) fn found() -> Found {
        let mut found = Found::default();
        let mut take = |finding: &Finding| {
            assert!(found.take(&serde_json::to_string(finding).expect("a line")));
        };
        take(&Finding::Together { latency_s: 50e-6, message_s: 5e-6, seconds_per_byte: 0.5f64.powi(30) });
        let nodes = ["n1".to_owned(), "n2".to_owned()];
        take(&Finding::Link { nodes, latency_s: 40e-6, seconds_per_byte: 0.0 });
        for (n, algorithm) in ["direct", "ring", "halving", "doubling", "tree"].into_iter().enumerate() {
            take(&Finding::AllReduce {
                bytes: 4096,
                algorithm: algorithm.into(),
                rounds: 200,
                median_s: 100e-6 + n as f64 * 10e-6,
                fastest_s: 90e-6,
                expected_s: 104e-6,
            });
        }
        take(&Finding::Auto { bytes: 4096, algorithm: "doubling".into(), why: "it costs least".into() });
        found
    }

    #[test]
    fn what_has_not_come_is_missed() {
        let bench = |sizes: &[u64]| Bench { sizes: sizes.to_vec(), plain: false };
        assert_eq!(found().missing(2, &bench(&[4096])), 0);
        assert_eq!(found().missing(3, &bench(&[4096, 64])), 3, "two links and a size");
        assert_eq!(Found::default().missing(2, &bench(&[])), 2);
        let mut cut = found();
        cut.sizes[0].by.pop();
        assert_eq!(cut.missing(2, &bench(&[4096])), 1);
    }

    #[test]
    fn what_no_host_has_found_is_left_to_whoever_reads_the_log() {
        let mut found = Found::default();
        assert!(!found.take("the link to n2 was slow") && !found.take("{}") && !found.take("null"));
    }

    #[test]
    fn a_size_knows_what_was_chosen_and_what_was_best() {
        let found = found();
        let sums = &found.sizes[0];
        let of = |timed: Option<&Timed>| timed.expect("there").algorithm.clone();
        assert_eq!((of(sums.chosen()), of(sums.best())), ("doubling".into(), "direct".into()));
        assert_eq!(found.links[0].1.bytes_per_s, None);
        assert_eq!(found.together.expect("there").bytes_per_s, Some(1_073_741_824.0));
    }
}
