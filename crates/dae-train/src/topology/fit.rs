//! What can be judged only with the data at hand.

use super::error::TopologyError;
use super::plan::Plan;
use super::problem::Problem;

/// What a dataset says of itself once it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFacts {
    /// The samples in it, before `data.limit`.
    pub samples: usize,
    /// The shape of one sample: `[784]`, or `[1, 28, 28]` for channels, height and width.
    pub shape: Vec<usize>,
}

impl Plan {
    /// Checks that this machine alone can run the plan.
    ///
    /// # Errors
    /// If its workers are to be spread over several nodes.
    pub fn fit_one_node(&self) -> Result<(), TopologyError> {
        if self.nodes() == 1 {
            return Ok(());
        }
        let reason = format!("spreads its workers over {} nodes, and this is one", self.nodes());
        let fix =
            "add --cluster NAME to run it on the nodes of a cluster, or take the `@cluster` out".to_owned();
        let problem = self.marks.problem("needs-a-cluster", "schedule.word", reason, fix);
        Err(TopologyError::of(&self.name, vec![problem]))
    }

    /// Checks the plan against the data it is to run on.
    ///
    /// # Errors
    /// A limit beyond the data, fewer samples than workers, a model that takes samples of another shape; each
    /// shown in the topology's text.
    pub fn fit(&self, facts: &DataFacts) -> Result<(), TopologyError> {
        let problems: Vec<_> = [self.fit_count(facts), self.fit_shape(facts)].into_iter().flatten().collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(TopologyError::of(&self.name, problems)),
        }
    }

    fn fit_count(&self, facts: &DataFacts) -> Option<Problem> {
        let (used, workers) = (self.samples(facts.samples), self.workers());
        match self.topology.data.limit {
            Some(limit) if limit > facts.samples as u64 => {
                let reason = format!("asks for {limit} samples, but the dataset has {}", facts.samples);
                let fix = format!("remove the limit, or write one of at most {}", facts.samples);
                Some(self.misfit("data.limit", reason, fix))
            }
            _ if used < workers => {
                let reason =
                    format!("{workers} workers share {used} samples, so {} get none", workers - used);
                let fix = match used {
                    0 => "use a dataset with samples in it".into(),
                    _ => format!("use at most {used} workers, or more data"),
                };
                Some(self.misfit("schedule.word", reason, fix))
            }
            _ => None,
        }
    }

    fn fit_shape(&self, facts: &DataFacts) -> Option<Problem> {
        let model = &self.topology.model;
        let shape = &facts.shape;
        let size = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        match (model.kind.as_str(), shape.as_slice(), model.layers.as_slice()) {
            ("mlp", _, [first, inner @ .., _]) if Some(*first as usize) != size => {
                let size = size.map_or("too many".into(), |n| n.to_string());
                let reason =
                    format!("the model takes {first} values, but a sample has {size} (shape {shape:?})");
                let inner: String = inner.iter().map(|width| format!("{width}, ")).collect();
                Some(self.misfit("model.layers", reason, format!("write layers = [{size}, {inner}{size}]")))
            }
            ("conv", [1, h, w], _) if [h, w].iter().all(|d| **d > 0 && *d % 4 == 0) => None,
            ("conv", ..) => {
                let reason = format!(
                    "conv takes one channel whose height and width divide by 4 (it halves both twice), \
                     but a sample has shape {shape:?}"
                );
                let fix =
                    "write kind = \"mlp\", or use images of shape [1, H, W] such as MNIST's [1, 28, 28]";
                Some(self.misfit("model.kind", reason, fix.into()))
            }
            _ => None,
        }
    }

    fn misfit(&self, key: &str, reason: String, fix: String) -> Problem {
        self.marks.problem("does-not-fit-the-data", key, reason, fix)
    }
}
