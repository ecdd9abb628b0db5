//! The first cause of a job's failure, whoever is heard first.

/// The failure that counts: the first that was heard, unless that host only felt the failure of another which has words
/// of its own.
#[derive(Debug, Default)]
pub(crate) struct FirstCause(Option<Cause>);

#[derive(Debug)]
struct Cause {
    index: usize,
    text: String,
    code: u8,
    blames: Option<usize>,
}

impl FirstCause {
    /// A host failed, perhaps because of another one.
    pub(crate) fn offer(&mut self, index: usize, text: String, code: u8, blames: Option<usize>) {
        let counts = match &self.0 {
            None => true,
            // Who blames back knows no more.
            Some(first) => first.blames == Some(index) && blames != Some(first.index),
        };
        if counts {
            self.0 = Some(Cause { index, text, code, blames });
        }
    }

    /// Its words.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.0.as_ref().map(|cause| cause.text.as_str())
    }

    /// Its words and its exit code.
    pub(crate) fn take(&mut self) -> Option<(String, u8)> {
        self.0.take().map(|cause| (cause.text, cause.code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(failures: &[(usize, Option<usize>)]) -> usize {
        let mut cause = FirstCause::default();
        for (index, blames) in failures {
            cause.offer(*index, index.to_string(), 1, *blames);
        }
        cause.take().and_then(|(text, _)| text.parse().ok()).expect("one counts")
    }

    #[test]
    fn the_first_counts_unless_it_only_felt_another() {
        assert_eq!(first(&[(1, None), (0, Some(1)), (2, None)]), 1);
        assert_eq!(first(&[(0, Some(1)), (2, Some(1)), (1, None)]), 1);
        assert_eq!(first(&[(0, Some(2)), (2, Some(1)), (1, None)]), 1);
        assert_eq!(first(&[(0, Some(1)), (2, None)]), 0, "2 has failed of its own, later");
        assert_eq!(first(&[(0, Some(1)), (1, Some(0))]), 0);
    }
}
