//! Who waits for which answer.

/// Numbered places for what waits; a number is never given twice while anybody could still mean the first.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    places: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Enters one, and gives its number.
    pub(crate) fn insert(&mut self, waiting: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            // Bounded by the link's limits, far below.
            self.places.len() as u32 - 1
        });
        let mut number = u64::from(index);
        if let Some((turn, place)) = self.places.get_mut(index as usize) {
            *turn = turn.wrapping_add(1);
            *place = Some(waiting);
            number |= u64::from(*turn) << 32;
        }
        number
    }

    /// Takes one out; `None` for a number that is not in use (any more).
    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let index = number as u32;
        let (turn, place) = self.places.get_mut(index as usize)?;
        let waiting = (u64::from(*turn) == number >> 32).then(|| place.take()).flatten()?;
        self.free.push(index);
        Some(waiting)
    }

    /// Takes all out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.free.clear();
        std::mem::take(&mut self.places).into_iter().filter_map(|(_, waiting)| waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_one_only() {
        let mut slots = Slots::default();
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_eq!((slots.take(a), slots.take(a), slots.len()), (Some('a'), None, 1));
        let c = slots.insert('c');
        assert_ne!(a, c);
        assert_eq!((slots.take(a), slots.take(c | 7), slots.take(u64::MAX)), (None, None, None));
        assert_eq!(slots.take(c), Some('c'));
        let d = slots.insert('d');
        assert_eq!(slots.drain().collect::<String>(), "db");
        assert_eq!((slots.take(b), slots.take(d), slots.len()), (None, None, 0));
    }
}
