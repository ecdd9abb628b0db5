//! A join's ledger or a circle of peers, told and asked alike.

use super::Circle;
use crate::centre::{Arrival, Ledger, Order, Taken, Tally};

/// Who may begin, and what follows from a round that has ended.
#[derive(Debug, Clone)]
pub enum Books {
    /// Of children around a centre, or of peers that wait for nobody.
    Ledger(Ledger),
    /// Of peers whose rounds are rounds for all.
    Circle(Circle),
}

/// The same of either.
macro_rules! of {
    ($books:expr, $each:ident => $what:expr) => {
        match $books {
            Books::Ledger($each) => $what,
            Books::Circle($each) => $what,
        }
    };
}

impl Books {
    /// Lets all begin.
    pub fn begin(&mut self) -> Vec<Order> {
        of!(self, books => books.begin())
    }

    /// A round has ended. One that is not expected, since it was booked before, changes nothing.
    pub fn arrive(&mut self, arrival: Arrival) -> Vec<Order> {
        of!(self, books => books.arrive(arrival))
    }

    /// Goes on after [`Order::Quiet`].
    pub fn release(&mut self) -> Vec<Order> {
        of!(self, books => books.release())
    }

    /// Has every child leave as soon as all can go on from there.
    pub fn stop(&mut self) -> Vec<Order> {
        of!(self, books => books.stop())
    }

    /// Whether all are through.
    pub fn through(&self) -> bool {
        of!(self, books => books.through())
    }

    /// Updates of the centre so far, or rounds that all have ended.
    pub fn version(&self) -> u64 {
        of!(self, books => books.version())
    }

    /// Rounds that a child has done.
    pub fn clock(&self, child: usize) -> u64 {
        of!(self, books => books.clock(child))
    }

    /// What has been counted on the way.
    pub fn tally(&self) -> &Tally {
        of!(self, books => books.tally())
    }

    /// As [`Books::tally`], to add to it.
    pub fn tally_mut(&mut self) -> &mut Tally {
        of!(self, books => books.tally_mut())
    }

    /// What was left to chance since this was asked last, in order; where all wait for all, nothing.
    pub fn taken(&mut self) -> Vec<Taken> {
        match self {
            Self::Ledger(ledger) => ledger.taken(),
            Self::Circle(_) => Vec::new(),
        }
    }
}
