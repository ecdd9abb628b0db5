//! Which item lies where: what the word says, and where it says nothing the nearest that fits.

use serde::Serialize;

use super::facts::Facts;
use super::refused::Refused;
use crate::gradient::GItem;
use crate::place::Place;
use crate::word::Word;

/// Where the children of an item lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The item, as it is written.
    pub item: String,
    /// Its children.
    pub children: u32,
    /// How they lie: `device`, `node`, `rack` or `cluster`.
    pub place: &'static str,
    /// How many of them lie on one machine, where only some fit.
    pub on_one_node: u32,
    /// Whether the word says so; otherwise the nearest that fits was chosen.
    pub said: bool,
}

/// An item with more than one child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Which item of the word: those left of `step` come first.
    pub(crate) at: usize,
    pub(crate) n: u32,
    pub(crate) place: Place,
    pub(crate) said: bool,
    /// Children that share a machine, though the others lie on other ones; n is a multiple of it.
    pub(crate) share: u32,
    /// Machines that a child lies on.
    pub(crate) inner_nodes: u32,
    /// How many of this item there are, side by side.
    pub(crate) instances: u32,
}

impl Level {
    /// The sums that make up a sum over the children: on each machine, then over machines.
    pub(crate) fn stages(&self) -> impl Iterator<Item = (Place, u32)> {
        let apart = (self.place, self.n / self.share);
        let together = (self.share > 1).then_some((Place::Node, self.share));
        together.into_iter().chain(std::iter::once(apart)).filter(|(_, n)| *n > 1)
    }

    /// The parts that a vector is in when it is summed between these: each machine of a child sends its own.
    pub(crate) fn slices(&self, place: Place) -> f64 {
        if place.spans_nodes() { f64::from(self.inner_nodes) } else { 1.0 }
    }
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) levels: Vec<Level>,
    pub(crate) nodes: u32,
    pub(crate) workers_per_node: u32,
}

/// The items of a word that may have children, with their places.
fn items(word: &Word) -> impl Iterator<Item = (usize, u32, Option<Place>)> {
    word.children().enumerate().map(|(at, (n, place))| (at, n, place))
}

impl Layout {
    /// Lays out a word.
    pub(crate) fn new(word: &Word, facts: &Facts) -> Result<Self, Vec<Refused>> {
        let workers = word.workers();
        let even = facts.nodes.map(|nodes| workers.div_ceil(nodes.max(1)));
        let room = facts.workers_per_node.or(even);
        let mut layout = Self { levels: Vec::new(), nodes: 1, workers_per_node: 1 };
        for (at, n, said) in items(word).filter(|(_, n, _)| *n > 1) {
            let (place, share) = match said {
                Some(place) => (place, 1),
                None => layout.nearest(n, room),
            };
            let inner_nodes = layout.nodes;
            let on_node = if place.spans_nodes() { share } else { n };
            layout.workers_per_node *= on_node;
            layout.nodes *= n / on_node;
            let (said, instances) = (said.is_some(), 1);
            layout.levels.push(Level { at, n, place, said, share, inner_nodes, instances });
        }
        let mut around = 1;
        for level in layout.levels.iter_mut().rev() {
            level.instances = around;
            around *= level.n;
        }
        layout.check(facts)
    }

    /// The place of children of whom nothing is said, and how many of them share a machine.
    fn nearest(&self, n: u32, room: Option<u32>) -> (Place, u32) {
        let free = room.map_or(u32::MAX, |room| room / self.workers_per_node);
        match self.nodes {
            1 if n <= free => (Place::Node, 1),
            1 => {
                (Place::Cluster, (1..=free.min(n)).rev().find(|share| n.is_multiple_of(*share)).unwrap_or(1))
            }
            _ => (Place::Cluster, 1),
        }
    }

    fn check(self, facts: &Facts) -> Result<Self, Vec<Refused>> {
        let mut refused = Vec::new();
        let Self { nodes, workers_per_node, .. } = self;
        if let Some(room) = facts.workers_per_node
            && workers_per_node > room
        {
            refused.push(Refused::new(
                "workers per node",
                format!("the word puts {workers_per_node} workers on a node, and {room} fit"),
                format!("give {workers_per_node}, or write `@cluster` on an item"),
            ));
        }
        if let Some(there) = facts.nodes
            && nodes > there
        {
            refused.push(Refused::new(
                "nodes",
                format!("the word spreads over {nodes} nodes, and there are {there}"),
                format!("give {nodes} nodes, or write `@node` on an item"),
            ));
        }
        if refused.is_empty() { Ok(self) } else { Err(refused) }
    }

    /// The level of an item, if it has more than one child.
    pub(crate) fn level(&self, at: usize) -> Option<&Level> {
        self.levels.iter().find(|level| level.at == at)
    }

    /// For people.
    pub(crate) fn placed(&self, word: &Word) -> Vec<Placed> {
        let name = |place: Place| crate::print::name(Place::NAMES, place);
        let placed = |level: &Level| Placed {
            item: written(word, level.at),
            children: level.n,
            place: name(level.place),
            on_one_node: if level.place.spans_nodes() { level.share } else { level.n },
            said: level.said,
        };
        self.levels.iter().map(placed).collect()
    }
}

/// An item as it is written.
pub(crate) fn written(word: &Word, at: usize) -> String {
    match word.gradient().get(at) {
        Some(item) => item.to_string(),
        None => word.model().get(at - word.gradient().len()).map_or(String::new(), ToString::to_string),
    }
}

/// Parts that the model is cut into.
pub(crate) fn cut(word: &Word) -> u32 {
    let parts = |item: &GItem| match item {
        GItem::Pipe(_) | GItem::Tensor(_) => item.children(),
        GItem::Accum(_) | GItem::Split(_) => 1,
    };
    word.gradient().iter().map(parts).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str, nodes: Option<u32>, per_node: Option<u32>) -> Result<Layout, Vec<Refused>> {
        let word = crate::parse(text).unwrap().into_word().unwrap();
        Layout::new(&word, &Facts { nodes, workers_per_node: per_node, ..Facts::of_params(1, 1) })
    }

    fn places(layout: &Layout) -> Vec<(Place, u32, u32)> {
        layout.levels.iter().map(|level| (level.place, level.n, level.share)).collect()
    }

    #[test]
    fn what_is_not_said_lies_as_near_as_it_fits() {
        let near = layout("split 8 | step adam", None, None).unwrap();
        assert_eq!((places(&near), near.nodes), (vec![(Place::Node, 8, 1)], 1));
        let spread = layout("split 8 | step adam", Some(4), None).unwrap();
        assert_eq!((places(&spread), spread.nodes), (vec![(Place::Cluster, 8, 2)], 4));
        let both = layout("split 4 | step adam | join 6", None, Some(4)).unwrap();
        assert_eq!(places(&both), [(Place::Node, 4, 1), (Place::Cluster, 6, 1)]);
        assert_eq!((both.nodes, both.workers_per_node), (6, 4));
        let around = layout("split 3 @cluster | step adam | join 2", None, None).unwrap();
        assert_eq!((around.nodes, around.levels[1].inner_nodes, around.levels[0].instances), (6, 3, 2));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        assert!(layout("split 8 @node | step adam", None, Some(4)).unwrap_err()[0].why.contains('8'));
        assert!(
            layout("split 8 @cluster | step adam", Some(4), None).unwrap_err()[0].help.contains("8 nodes")
        );
        assert!(layout("split 7 | step adam", Some(2), Some(2)).is_err());
    }
}
