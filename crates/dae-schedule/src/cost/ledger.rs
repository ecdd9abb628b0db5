//! Bytes and messages of a step, added up by kind of link.

use serde::Serialize;

use super::collective::Chosen;
use super::figures::Figures;
use crate::place::Place;

/// What one step sends over links of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// The kind: `device`, `node`, `rack` or `cluster`.
    pub link: &'static str,
    /// Bytes that all endpoints together send.
    pub sent_bytes: f64,
    /// Bytes that one of them sends, on average.
    pub endpoint_bytes: f64,
    /// The most that one of them sends or receives: a centre's share is larger than that of its children.
    pub busiest_bytes: f64,
    /// Messages of all together.
    pub messages: f64,
}

/// What the items of a word enter.
pub(crate) struct Ledger<'a> {
    pub(crate) figures: &'a Figures,
    pub(crate) by_link: Vec<Traffic>,
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) events: u64,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(figures: &'a Figures) -> Self {
        Self { figures, by_link: Vec::new(), chosen: Vec::new(), events: 0 }
    }

    /// Enters bytes of a step: all, of one endpoint, of the busiest; and messages.
    pub(crate) fn traffic(&mut self, place: Place, sent: f64, endpoint: f64, busiest: f64, messages: f64) {
        let link = crate::print::name(Place::NAMES, place);
        let entry = match self.by_link.iter().position(|entry| entry.link == link) {
            Some(at) => &mut self.by_link[at],
            None => {
                let (sent_bytes, endpoint_bytes, busiest_bytes, messages) = (0.0, 0.0, 0.0, 0.0);
                self.by_link.push(Traffic { link, sent_bytes, endpoint_bytes, busiest_bytes, messages });
                let last = self.by_link.len() - 1;
                &mut self.by_link[last]
            }
        };
        entry.sent_bytes += sent;
        entry.endpoint_bytes += endpoint;
        entry.busiest_bytes += busiest;
        entry.messages += messages;
    }
}
