//! A gossip about to begin: its peers' mailboxes, who keeps the books.

use super::assemble::child_steps;
use super::join::{Between, CentreParts, Standing, facts};
use crate::gossip::{Books, Circle, Holding, Mailbox};
use crate::topology::Plan;
use dae_schedule::Gossip;

/// What the peers of a gossip have between them.
pub(super) fn gossip(plan: &Plan, gossip: &Gossip, samples: usize, from: &Standing<'_>) -> CentreParts {
    let Standing { at, children, params, state } = *from;
    let left = (0..plan.children()).map(|peer| {
        let done = children.get(peer).map_or(0, |child| child.steps);
        child_steps(plan, samples, peer).saturating_sub(done).div_ceil(plan.period())
    });
    let circle = Circle::new(gossip.clone(), at.step, left).pause_every(plan.topology().checkpoint.every);
    let mailbox = |peer: usize| {
        // One that has not begun holds what all begin from.
        let held = children.get(peer).and_then(|_| state[plan.buffers_of(peer)].last());
        let weight = children.get(peer).and_then(|child| child.weight).unwrap_or(1.0);
        let mass = held.map_or_else(|| params.to_vec(), Vec::clone);
        Mailbox::new(peer, Holding::new(mass, weight, gossip.push), circle.clock(peer))
    };
    let between = Between::Mailboxes((0..plan.children()).map(mailbox).collect());
    CentreParts { facts: facts(plan, samples, from), ledger: Books::Circle(circle), between }
}
