//! What a plan says, done over links.

use crate::element::{sum, sum_around};
use crate::plan::{Receive, Round, Take};
use crate::{Broken, Element, Incoming, Outgoing, Peers, Plan, Tag};
use std::ops::Range;

/// A few bytes of each node, which travel with the first round to all others.
pub(crate) struct Heads<'a> {
    /// Of this node.
    pub(crate) mine: &'a [u8],
    /// Of all nodes; this one's own stays untouched.
    pub(crate) all: &'a mut [Vec<u8>],
}

/// What a node brings to a sum: terms that stay as they are, and where something has been added to them already.
///
/// So nothing is copied before it is sent, and what others sum is never summed here.
pub(crate) struct Terms<'a, T> {
    terms: &'a [&'a [T]],
    begun: Vec<Range<usize>>,
}

impl<'a, T: Element> Terms<'a, T> {
    /// Of these terms.
    pub(crate) fn new(terms: &'a [&'a [T]]) -> Self {
        Self { terms, begun: vec![] }
    }

    /// The only term, where nothing was added to it.
    fn only(&self, range: &Range<usize>) -> Option<&'a [T]> {
        let &[term] = self.terms else { return None };
        let touched = self.begun.iter().any(|begun| meet(begun, range));
        (!touched).then(|| &term[range.clone()])
    }

    /// Sums the terms of a stretch to where more will be added, as far as that is not done.
    pub(crate) fn begin(&mut self, range: &Range<usize>, numbers: &mut [T]) {
        let mut at = range.start;
        let mut sum_to = |at: usize, end: usize| {
            let terms: Vec<_> = self.terms.iter().map(|term| &term[at..end]).collect();
            sum(&terms, &mut numbers[at..end]);
        };
        for begun in self.begun.iter().filter(|begun| meet(begun, range)) {
            if at < begun.start {
                sum_to(at, begun.start);
            }
            at = at.max(begun.end);
        }
        if at < range.end {
            sum_to(at, range.end);
        }
        self.mark(range);
    }

    /// From here on `numbers` has what counts.
    fn mark(&mut self, range: &Range<usize>) {
        self.begun.push(range.clone());
        self.begun.sort_by_key(|begun| begun.start);
    }
}

/// Whether two stretches have something in common.
fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Does some rounds of a plan with this node's numbers; `tag` is that of their first. Room for what is to be added is
/// kept in `room` from call to call.
///
/// # Errors
/// As [`Peers::exchange`]; the numbers are spoilt then.
///
/// # Panics
/// If the plan is not for so many nodes or numbers.
pub fn perform<T: Element>(
    peers: &mut dyn Peers,
    tag: Tag,
    rounds: &[Round],
    numbers: &mut [T],
    room: &mut Vec<T>,
) -> Result<(), Broken> {
    perform_with(peers, tag, rounds, (numbers, room), None, None)
}

/// As [`perform`], with the heads. With terms, these are what this node has, and `numbers` is where the sum is made.
pub(crate) fn perform_with<T: Element>(
    peers: &mut dyn Peers,
    tag: Tag,
    rounds: &[Round],
    (numbers, room): (&mut [T], &mut Vec<T>),
    mut terms: Option<&mut Terms<'_, T>>,
    mut heads: Option<Heads<'_>>,
) -> Result<(), Broken> {
    for (n, round) in (tag.round..).zip(rounds) {
        let tag = Tag { round: n, ..tag };
        if let Some(terms) = &mut terms {
            for send in &round.sends {
                if terms.only(&send.range).is_none() {
                    terms.begin(&send.range, numbers);
                }
            }
        }
        exchange(peers, tag, round, (numbers, room), terms.as_deref(), heads.take())?;
        add(peers.node(), round, (numbers, room), terms.as_deref_mut());
    }
    Ok(())
}

/// An all-reduce of integers, whose sum is free of order, to numbers: integers travel where sums grow, and where they
/// spread the numbers that `finish` makes of finished sums. `first` and `then` are the tags of the two halves.
///
/// # Errors
/// As [`Peers::exchange`].
///
/// # Panics
/// If the plan is not for so many nodes or numbers.
pub(crate) fn perform_exact(
    peers: &mut dyn Peers,
    [first, then]: [Tag; 2],
    plan: &Plan,
    (sums, room): (&mut [i64], &mut Vec<i64>),
    (total, finish): (&mut [f32], impl FnOnce(&[i64], &mut [f32])),
    (mut terms, heads): (Option<Terms<'_, i64>>, Option<Heads<'_>>),
) -> Result<(), Broken> {
    perform_with(peers, first, plan.adding(), (&mut *sums, room), terms.as_mut(), heads)?;
    if let Some(terms) = &mut terms {
        terms.begin(&plan.held(), sums);
    }
    finish(&sums[plan.held()], &mut total[plan.held()]);
    // Nothing is added in these rounds, so they take no room.
    perform(peers, then, plan.copying(), total, &mut Vec::new())
}

fn added(round: &Round) -> impl Iterator<Item = &Receive> {
    round.receives.iter().filter(|receive| receive.take == Take::Add)
}

/// Sends and receives what a round says. What is to be added comes to lie in `room`, one after the other.
fn exchange<T: Element>(
    peers: &mut dyn Peers,
    tag: Tag,
    round: &Round,
    (numbers, room): (&mut [T], &mut Vec<T>),
    terms: Option<&Terms<'_, T>>,
    heads: Option<Heads<'_>>,
) -> Result<(), Broken> {
    let (nodes, node) = (peers.nodes(), peers.node());
    let mut out = vec![None; nodes];
    let mut into: Vec<Option<Incoming<'_>>> = (0..nodes).map(|_| None).collect();
    if let Some(Heads { mine, all }) = heads {
        out.fill(Some(Outgoing { head: mine, body: &[] }));
        into = all.iter_mut().map(|head| Some(Incoming { head, body: &mut [] })).collect();
        (out[node], into[node]) = (None, None);
    }
    let needed = added(round).map(|receive| receive.range.len()).sum();
    if room.len() < needed {
        room.resize(needed, T::zeroed());
    }
    let mut free = &mut room[..];
    for receive in added(round) {
        let place = free.split_off_mut(..receive.range.len()).unwrap_or_default();
        into[receive.from].get_or_insert_default().body = bytemuck::cast_slice_mut(place);
    }
    let (places, rest) = apart(round, numbers);
    for (from, place) in places {
        into[from].get_or_insert_default().body = bytemuck::cast_slice_mut(place);
    }
    for send in &round.sends {
        if let Some(term) = terms.and_then(|terms| terms.only(&send.range)) {
            out[send.to].get_or_insert_default().body = bytemuck::cast_slice(term);
            continue;
        }
        let lies = |(at, _): &&(Range<usize>, &[T])| at.start <= send.range.start && send.range.end <= at.end;
        let (at, stretch) =
            rest.iter().find(lies).expect("nothing is sent from where something is copied to");
        let body = &stretch[send.range.start - at.start..send.range.end - at.start];
        out[send.to].get_or_insert_default().body = bytemuck::cast_slice(body);
    }
    match out.iter().all(Option::is_none) && into.iter().all(Option::is_none) {
        true => Ok(()),
        false => peers.exchange(tag, &out, &mut into),
    }
}

/// Where a round's copies come to lie, with the nodes they come from; and the stretches between.
#[expect(clippy::type_complexity, reason = "both are used once, on the spot")]
fn apart<'a, T>(
    round: &Round,
    numbers: &'a mut [T],
) -> (Vec<(usize, &'a mut [T])>, Vec<(Range<usize>, &'a [T])>) {
    let mut copied: Vec<_> = round.receives.iter().filter(|receive| receive.take == Take::Copy).collect();
    copied.sort_by_key(|receive| receive.range.start);
    let (mut places, mut between, mut at) = (vec![], vec![], 0);
    let mut rest = numbers;
    for Receive { from, range, .. } in copied {
        let (before, more) = rest.split_at_mut(range.start - at);
        let (place, more) = more.split_at_mut(range.len());
        places.push((*from, place));
        between.push((at..range.start, &*before));
        (rest, at) = (more, range.end);
    }
    between.push((at..at + rest.len(), &*rest));
    (places, between)
}

/// Adds what has come.
fn add<T: Element>(
    node: usize,
    round: &Round,
    (numbers, room): (&mut [T], &mut [T]),
    mut terms: Option<&mut Terms<'_, T>>,
) {
    if let Some(terms) = &mut terms {
        let copied = round.receives.iter().filter(|receive| receive.take == Take::Copy);
        copied.for_each(|receive| terms.mark(&receive.range));
    }
    let receives: Vec<_> = added(round).collect();
    let mut room = room;
    for of_place in receives.chunk_by(|a, b| a.range == b.range) {
        let range = of_place[0].range.clone();
        let (mut before, mut after) = (vec![], vec![]);
        for receive in of_place {
            let term = room.split_off_mut(..range.len()).unwrap_or_default();
            match receive.from < node {
                true => before.push(term),
                false => after.push(&*term),
            }
        }
        let own = terms.as_mut().and_then(|terms| {
            let only = terms.only(&range);
            match only {
                Some(_) => terms.mark(&range),
                None => terms.begin(&range, numbers),
            }
            only
        });
        sum_around(&mut before, own, &after, &mut numbers[range]);
    }
}

#[cfg(test)]
mod tests;
