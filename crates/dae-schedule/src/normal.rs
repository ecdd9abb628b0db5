//! The normal form and its hash: words that the exact laws make equal have the same ones.

use crate::gradient::GItem;
use crate::schedule::Schedule;
use crate::word::Word;

impl Word {
    /// The normal form: words that the laws G1 to G3 make equal have the same one.
    pub fn normal(&self) -> Word {
        let mut gradient: Vec<GItem> = Vec::new();
        let accum: u32 =
            self.gradient.iter().map(|item| if let GItem::Accum(k) = item { *k } else { 1 }).product();
        if accum > 1 {
            gradient.push(GItem::Accum(accum));
        }
        for item in &self.gradient {
            match (gradient.last_mut(), *item) {
                (_, GItem::Accum(_)) => {}
                (_, GItem::Split(split)) if split.n == 1 => {}
                (_, GItem::Tensor(tensor)) if tensor.n == 1 => {}
                (Some(GItem::Split(outer)), GItem::Split(split))
                    if crate::gradient::Split { n: split.n, ..*outer } == split =>
                {
                    outer.n *= split.n;
                }
                (_, item) => gradient.push(item),
            }
        }
        Word { gradient, step: self.step, model: self.model.clone() }
    }

    /// 64-bit FNV-1a over the printed normal form: stable for ever, on every machine.
    ///
    /// Checkpoints and handshakes carry it. It tells schedules apart; it is no protection against forgery.
    pub fn hash(&self) -> u64 {
        hash(&self.normal().to_string())
    }
}

impl Schedule {
    /// The normal form of each of its words.
    pub fn normal(&self) -> Schedule {
        match self {
            Self::Word(word) => Self::Word(word.normal()),
            Self::Phase(phase) => {
                let (first, then) = (phase.first.normal(), phase.then.normal());
                Self::Phase(Box::new(crate::schedule::Phase { first, then, ..**phase }))
            }
        }
    }

    /// 64-bit FNV-1a over the printed normal form; of a single word, the word's own [`Word::hash`].
    pub fn hash(&self) -> u64 {
        hash(&self.normal().to_string())
    }
}

fn hash(printed: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    printed.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}
