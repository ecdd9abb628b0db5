//! The actors a word becomes, and where they go.

use serde::Serialize;

use crate::cost::{Cost, is_all_reduce};
use crate::gradient::GItem;
use crate::model::MItem;
use crate::word::Word;

/// Actors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// The kind.
    pub kind: &'static str,
    /// How many there are.
    pub count: u64,
    /// Where they lie.
    pub place: String,
    /// What they do.
    pub does: String,
}

impl Actor {
    fn new(kind: &'static str, count: u64, place: impl Into<String>, does: impl Into<String>) -> Self {
        Self { kind, count, place: place.into(), does: does.into() }
    }
}

/// The actors of a word that is laid out like this.
pub(crate) fn actors(word: &Word, cost: &Cost) -> Vec<Actor> {
    let workers = u64::from(cost.workers);
    let per_node = match (cost.workers_per_node, cost.nodes) {
        (here, 1) => format!("{here} on one node"),
        (here, nodes) => format!("{here} on each of {nodes} nodes"),
    };
    let mut actors = vec![Actor::new(
        "worker",
        workers,
        per_node,
        "computes gradients of micro-batches, on a thread of its own",
    )];
    let cut = |item: &GItem| match item {
        GItem::Pipe(_) | GItem::Tensor(_) => u64::from(item.children()),
        GItem::Accum(_) | GItem::Split(_) => 1,
    };
    let replicas = workers / word.gradient().iter().map(cut).product::<u64>().max(1);
    actors.push(Actor::new(
        "loader",
        replicas,
        "beside each replica's first worker",
        "keeps its next batches ready",
    ));
    let mut around = workers;
    for item in word.gradient() {
        around /= u64::from(item.children());
        if let GItem::Split(split) = item
            && split.n > 1
        {
            let does = format!("sums the gradients of {} replicas", split.n);
            actors.push(Actor::new(
                "all-reduce coordinator",
                around,
                "beside the group's first worker",
                does,
            ));
        }
    }
    for item in word.model() {
        around /= u64::from(item.children());
        actors.extend(of_model(item, around));
    }
    actors.push(Actor::new(
        "checkpointer",
        1,
        "on the first node",
        "writes parameters and state while workers go on",
    ));
    actors
}

fn of_model(item: &MItem, instances: u64) -> Option<Actor> {
    match item {
        MItem::Join(join) if join.n > 1 && is_all_reduce(join) => Some(Actor::new(
            "all-reduce coordinator",
            instances,
            "beside the group's first child",
            format!("sums the displacements of {} children; the centre is on all of them", join.n),
        )),
        MItem::Join(join) if join.n > 1 => {
            let shards = u64::from(join.parts());
            let place = if shards == 1 { "with the first child" } else { "spread over the children's nodes" };
            let does = format!("holds 1/{shards} of the centre for {} children", join.n);
            Some(Actor::new("parameter-server shard", instances * shards, place, does))
        }
        MItem::Gossip(gossip) if gossip.n > 1 => Some(Actor::new(
            "gossip peer",
            instances * u64::from(gossip.n),
            "with each child",
            "mixes with its neighbours",
        )),
        _ => None,
    }
}
