//! What a rank is at, for whoever has to say why others wait.

/// What a rank is at. It says so itself, with one relaxed store, when it goes on to something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Doing {
    /// It has not said.
    #[default]
    Unknown,
    /// It waits for its batch.
    Data,
    /// It computes its gradient.
    Gradient,
    /// It sums and applies its slice.
    Applying,
    /// It exchanges numbers with these nodes, a bit each; the last bit is for all beyond.
    Exchange(u64),
    /// It writes its slice of a copy.
    Copy,
}

/// Bits that a word has for nodes.
const NODES: u32 = 56;

impl Doing {
    /// Of an exchange in which something is awaited from those nodes.
    pub(crate) fn exchange(awaited: impl Iterator<Item = usize>) -> Self {
        Self::Exchange(awaited.fold(0, |nodes, n| nodes | 1 << n.min(NODES as usize - 1)))
    }

    pub(crate) fn to_word(self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Data => 1,
            Self::Gradient => 2,
            Self::Applying => 3,
            Self::Copy => 4,
            Self::Exchange(nodes) => nodes << (64 - NODES) | 5,
        }
    }

    pub(crate) fn from_word(word: u64) -> Self {
        match word & 0xff {
            1 => Self::Data,
            2 => Self::Gradient,
            3 => Self::Applying,
            4 => Self::Copy,
            5 => Self::Exchange(word >> (64 - NODES)),
            _ => Self::Unknown,
        }
    }

    /// In words, where nodes are called so.
    pub fn describe(self, names: &[String]) -> String {
        match self {
            Self::Unknown => "at something unknown".into(),
            Self::Data => "waiting for its data".into(),
            Self::Gradient => "computing its gradient".into(),
            Self::Applying => "applying the step".into(),
            Self::Copy => "writing its part of a copy".into(),
            Self::Exchange(nodes) => {
                let of = |n: &u32| nodes >> n & 1 == 1;
                let name = |n: u32| match names.get(n as usize) {
                    Some(name) if n < NODES - 1 => name.clone(),
                    _ => format!("nodes from {n} on"),
                };
                let named: Vec<_> = (0..NODES).filter(of).map(name).collect();
                format!("in the exchange with {}", named.join(", "))
            }
        }
    }
}

/// A rank as somebody sees it who asks why there is no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its rank, among all nodes.
    pub rank: usize,
    /// Whether others of its node wait for it.
    pub missing: bool,
    /// Whether it waits for others of its node.
    pub waits: bool,
    /// What it is at, or was before it waited.
    pub doing: Doing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_the_same() {
        let all = [Doing::Unknown, Doing::Data, Doing::Gradient, Doing::Applying, Doing::Copy];
        for doing in all.into_iter().chain([Doing::Exchange(0), Doing::exchange([0, 2, 55, 99].into_iter())])
        {
            assert_eq!(Doing::from_word(doing.to_word()), doing);
        }
    }

    #[test]
    fn nodes_are_named() {
        let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let with = |nodes: &[usize]| Doing::exchange(nodes.iter().copied()).describe(&names);
        assert_eq!(with(&[1, 2]), "in the exchange with b, c");
        assert_eq!(with(&[0, 70]), "in the exchange with a, nodes from 55 on");
    }
}
