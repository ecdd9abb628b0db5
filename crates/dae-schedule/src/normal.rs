//! The normal form and its hash: words that the exact laws make equal have the same ones.

use crate::gossip::{Gossip, Graph};
use crate::gradient::{GItem, Order, Split};
use crate::join::{Join, Outer, Stale, SyncMode};
use crate::model::MItem;
use crate::schedule::{Phase, Schedule};
use crate::step::Closing;
use crate::wire::Wire;
use crate::word::Word;

impl Word {
    /// The normal form: words that the exact laws make equal have the same one.
    ///
    /// Items of one child, and rounds of one, vanish (G1, M1). `accum`s merge, and so do neighbouring `split`s with the
    /// same settings (G2), and `every`s (M1). `accum` stands inside the `split`s next to it (G3). Names of one thing
    /// become one name (M4, M5). `split`s of different places stay apart and in order: they are different machines.
    pub fn normal(&self) -> Word {
        let raw = self.step.closing == Closing::Raw;
        let gradient = self.gradient.iter().fold(Vec::new(), wrap_gradient);
        let model = self.model.iter().fold(Vec::new(), |items, item| wrap_model(items, item, raw));
        Word { gradient, step: self.step, model }
    }

    /// 64-bit FNV-1a over the printed normal form: stable for ever, on every machine.
    ///
    /// Checkpoints and handshakes carry it. It tells schedules apart; it is no protection against forgery.
    pub fn hash(&self) -> u64 {
        hash(&self.normal().to_string())
    }
}

fn wrap_gradient(mut items: Vec<GItem>, item: &GItem) -> Vec<GItem> {
    match (*item, items.last_mut()) {
        (GItem::Accum(k), _) => {
            let folds = items.iter().rev().take_while(|inner| matches!(inner, GItem::Split(_))).count();
            let place = items.len() - folds;
            match items[..place].last_mut() {
                Some(GItem::Accum(inner)) => *inner *= k,
                _ if k == 1 => {}
                _ => items.insert(place, GItem::Accum(k)),
            }
        }
        // One that makes sums free of order does so for the `accum`s inside it, too.
        (GItem::Split(split), _) if split.n == 1 && split.order == Order::Any => {}
        (GItem::Tensor(tensor), _) if tensor.n == 1 => {}
        (GItem::Split(split), Some(GItem::Split(inner))) if (Split { n: inner.n, ..split }) == *inner => {
            inner.n *= split.n;
        }
        (item, _) => items.push(item),
    }
    items
}

/// `raw`: the gradient is handed on, so that even a `join 1` does something: it applies it.
fn wrap_model(mut items: Vec<MItem>, item: &MItem, raw: bool) -> Vec<MItem> {
    match (item, items.last_mut()) {
        (MItem::Every(1), _) => {}
        (MItem::Every(h), Some(MItem::Every(inner))) => *inner *= h,
        (MItem::Every(h), _) => items.push(MItem::Every(*h)),
        (MItem::Gossip(gossip), _) if gossip.n == 1 => {}
        (MItem::Gossip(gossip), _) => items.push(MItem::Gossip(normal_gossip(gossip))),
        (MItem::Join(join), _) => {
            let join = normal_join(join);
            if raw || !is_nothing(&join) {
                items.push(MItem::Join(join));
            }
        }
    }
    items
}

fn normal_join(join: &Join) -> Join {
    let sync = match join.sync {
        SyncMode::Ssp(0) => SyncMode::Bsp,
        SyncMode::Quorum { k, .. } if k == join.n => SyncMode::Bsp,
        sync => sync,
    };
    let outer = match join.outer {
        Outer::Nesterov { lr: 1.0, mu: 0.0 } | Outer::SlowMo { a: 1.0, b: 0.0 } => Outer::Avg,
        outer => outer,
    };
    let stale = if join.stale == Stale::Dc(0.0) { Stale::None } else { join.stale };
    Join { sync, outer, stale, ..*join }
}

/// Law M1: a centre of one child that takes over the child's values at once.
fn is_nothing(join: &Join) -> bool {
    let at_once = join.frag == 1 && join.delay == 0 && join.mix == 0.0;
    join.n == 1 && join.outer == Outer::Avg && join.wire == Wire::F32 && at_once
}

fn normal_gossip(gossip: &Gossip) -> Gossip {
    let mut gossip = gossip.clone();
    if let Graph::Hops(hops) = &mut gossip.graph {
        hops.sort_unstable();
        hops.dedup();
    }
    gossip
}

impl Schedule {
    /// The normal form of each of its words.
    pub fn normal(&self) -> Schedule {
        match self {
            Self::Word(word) => Self::Word(word.normal()),
            Self::Phase(phase) => {
                let (first, then) = (phase.first.normal(), phase.then.normal());
                Self::Phase(Box::new(Phase { first, then, ..**phase }))
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
