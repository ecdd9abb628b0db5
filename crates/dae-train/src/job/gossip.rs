//! A gossip about to begin: its peers' mailboxes, who keeps the books.

use super::assemble::child_steps;
use super::join::{Between, CentreParts, Standing, facts, ledger};
use crate::gossip::{Books, Circle, Holding, Mailbox, Pairs};
use crate::topology::Plan;
use dae_schedule::{Gossip, Join, SyncMode};

/// What the peers of a gossip have between them.
pub(super) fn gossip(plan: &Plan, gossip: &Gossip, samples: usize, from: &Standing<'_>) -> CentreParts {
    let Standing { children, params, state, .. } = *from;
    let free = gossip.asynchronous.then(|| Pairs::new(gossip.clone(), plan.seed()));
    let books = match free {
        // As children push to a centre that waits for nobody.
        Some(_) => ledger(plan, &Join { sync: SyncMode::Async, ..Join::new(gossip.n) }, samples, from),
        None => Books::Circle(circle(plan, gossip, samples, from)),
    };
    let mailbox = |peer: usize| {
        // One that has not begun holds what all begin from.
        let held = children.get(peer).and_then(|_| state[plan.buffers_of(peer)].last());
        let weight = children.get(peer).and_then(|child| child.weight).unwrap_or(1.0);
        let mass = held.map_or_else(|| params.to_vec(), Vec::clone);
        Mailbox::new(peer, Holding::new(mass, weight, gossip.push), books.clock(peer))
    };
    let between = Between::Mailboxes((0..plan.children()).map(mailbox).collect(), free);
    CentreParts { facts: facts(plan, samples, from), ledger: books, between }
}

fn circle(plan: &Plan, gossip: &Gossip, samples: usize, from: &Standing<'_>) -> Circle {
    let left = (0..plan.children()).map(|peer| {
        let done = from.children.get(peer).map_or(0, |child| child.steps);
        child_steps(plan, samples, peer).saturating_sub(done).div_ceil(plan.period())
    });
    Circle::new(gossip.clone(), from.at.step, left).pause_every(plan.topology().checkpoint.every)
}
