//! [`pieces`] and [`Whole`]: a message that one datagram does not hold travels in several.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Bytes before each piece: `message (8) | which piece | of how many`.
pub(super) const HEAD: usize = 10;
/// Pieces of one message at most.
const MOST_PIECES: u8 = 4;
/// Messages of which pieces are missing.
const WAITING: usize = 64;

/// The pieces of a message, each of at most `most` bytes with its head; none if that would be too many. `message` tells
/// it from the sender's others.
pub(super) fn pieces(message: u64, plain: &[u8], most: usize) -> impl ExactSizeIterator<Item = Vec<u8>> + '_ {
    let body = most.saturating_sub(HEAD).max(1);
    let count = plain.len().div_ceil(body).max(1);
    let (of, count) = match u8::try_from(count) {
        Ok(of) if of <= MOST_PIECES => (of, count),
        _ => (0, 0),
    };
    (0..count).map(move |index| {
        let mut piece = message.to_le_bytes().to_vec();
        // Fewer than `MOST_PIECES`.
        piece.extend([index as u8, of]);
        piece.extend(plain.iter().skip(index * body).take(body));
        piece
    })
}

/// Puts messages together again. What is lost is forgotten when others come.
#[derive(Debug, Default)]
pub(super) struct Whole {
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    from: SocketAddr,
    message: u64,
    pieces: Vec<Option<Vec<u8>>>,
}

impl Whole {
    /// The message that this piece makes whole, if it does.
    pub fn take(&mut self, from: SocketAddr, piece: &[u8]) -> Option<Vec<u8>> {
        let (message, rest) = piece.split_first_chunk()?;
        let (message, [index, of]) = (u64::from_le_bytes(*message), *rest.first_chunk()?);
        let body = rest.get(2..)?;
        if index >= of || of > MOST_PIECES {
            return None;
        }
        if of == 1 {
            return Some(body.to_vec());
        }
        let same = |waiting: &Waiting| {
            waiting.from == from && waiting.message == message && waiting.pieces.len() == usize::from(of)
        };
        let at = self.waiting.iter().position(same).unwrap_or_else(|| {
            if self.waiting.len() == WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(Waiting { from, message, pieces: vec![None; usize::from(of)] });
            self.waiting.len() - 1
        });
        let waiting = self.waiting.get_mut(at)?;
        *waiting.pieces.get_mut(usize::from(index))? = Some(body.to_vec());
        let whole = waiting.pieces.iter().cloned().collect::<Option<Vec<_>>>()?.concat();
        self.waiting.remove(at);
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    proptest! {
        /// Pieces of several messages, in any order and some twice, are those messages.
        #[test]
        fn pieces_make_the_message(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..8),
            seed in any::<u64>(),
        ) {
            let each = messages.iter().enumerate().flat_map(|(number, plain)| {
                pieces(7, plain, HEAD + 60).map(move |piece| (number, piece))
            });
            let mut all: Vec<_> = each.collect();
            all.sort_by_key(|(number, piece)| seed.wrapping_mul(piece[8] as u64 * 31 + *number as u64 + 1));
            let mut whole = Whole::default();
            let mut got = vec![None; messages.len()];
            for (number, piece) in all {
                if let Some(message) = whole.take(from(number as u16 + 1), &piece) {
                    prop_assert_eq!(got[number].replace(message), None);
                }
            }
            prop_assert_eq!(got, messages.into_iter().map(Some).collect::<Vec<_>>());
            prop_assert!(whole.waiting.is_empty());
        }

        #[test]
        fn nothing_that_a_peer_sends_is_a_panic_or_grows(all in prop::collection::vec((any::<u16>(), prop::collection::vec(0u8..5, 0..16)), 0..300)) {
            let mut whole = Whole::default();
            for (port, piece) in all {
                whole.take(from(port), &piece);
                prop_assert!(whole.waiting.len() <= WAITING);
            }
        }
    }

    #[test]
    fn what_is_far_too_long_has_no_pieces() {
        assert_eq!(pieces(1, &[0; 241], HEAD + 60).len(), 0);
        assert_eq!(pieces(1, &[0; 240], HEAD + 60).len(), 4);
        assert_eq!(pieces(1, &[], HEAD + 60).len(), 1);
    }
}
