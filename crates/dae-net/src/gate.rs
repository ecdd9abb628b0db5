//! [`Gate`]: bounds the connections that have not proved the key.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Lets in a bounded number of connections whose peers have not proved the key.
///
/// When it is full, the newest takes the place of the oldest: a peer with the key is through within milliseconds, and
/// whoever only holds a connection open loses it to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Mutex<VecDeque<Waiting>>>);

#[derive(Debug)]
struct Waiting {
    from: Option<IpAddr>,
    /// Dropped to turn the connection out.
    _turn_out: oneshot::Sender<()>,
    id: Arc<()>,
}

/// A place in the gate. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Gate,
    id: Arc<()>,
    turned_out: oneshot::Receiver<()>,
}

impl Gate {
    /// Connections that have not proved the key, at most.
    pub(crate) const PLACES: usize = 256;
    /// Those among them that come from one network address.
    pub(crate) const PLACES_PER_ADDRESS: usize = 64;

    pub(crate) fn enter(&self, from: Option<IpAddr>) -> Pass {
        let mut waiting = self.waiting();
        let neighbours = waiting.iter().filter(|each| from.is_some() && each.from == from).count();
        if neighbours >= Self::PLACES_PER_ADDRESS {
            let oldest = waiting.iter().position(|each| each.from == from);
            oldest.and_then(|at| waiting.remove(at));
        } else if waiting.len() >= Self::PLACES {
            waiting.pop_front();
        }
        let (turn_out, turned_out) = oneshot::channel();
        let id = Arc::new(());
        waiting.push_back(Waiting { from, _turn_out: turn_out, id: Arc::clone(&id) });
        Pass { gate: self.clone(), id, turned_out }
    }

    /// The list is whole whenever it is unlocked, also by a panic.
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Waits until somebody newer takes the place.
    pub(crate) async fn turned_out(&mut self) {
        // Nothing is ever sent: the sender is dropped.
        let _ = (&mut self.turned_out).await;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.waiting().retain(|each| !Arc::ptr_eq(&each.id, &self.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_out(pass: &mut Pass) -> bool {
        pass.turned_out.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn the_newest_takes_the_place_of_the_oldest_from_its_address() {
        let gate = Gate::default();
        let (ann, bob) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        let mut bobs = gate.enter(bob);
        let mut anns: Vec<Pass> = (0..Gate::PLACES_PER_ADDRESS).map(|_| gate.enter(ann)).collect();
        assert!(!anns.iter_mut().any(is_out));
        let mut more = gate.enter(ann);
        let out: Vec<bool> = anns.iter_mut().map(is_out).collect();
        assert!(out[0] && !out[1..].contains(&true));
        assert!(!is_out(&mut more) && !is_out(&mut bobs));
    }

    #[test]
    fn many_addresses_share_the_places() {
        let gate = Gate::default();
        let from = |at: usize| Some(IpAddr::from([10, 1, (at / 256) as u8, (at % 256) as u8]));
        let mut passes: Vec<Pass> = (0..Gate::PLACES + 3).map(|at| gate.enter(from(at))).collect();
        let out: Vec<bool> = passes.iter_mut().map(is_out).collect();
        assert_eq!(out.iter().filter(|out| **out).count(), 3);
        assert!(out[..3].iter().all(|out| *out));
        assert_eq!(gate.waiting().len(), Gate::PLACES);
        drop(passes);
        assert_eq!(gate.waiting().len(), 0);
    }
}
