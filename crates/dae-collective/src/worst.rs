//! Figures that all nodes agree on: the worst of what each has found.

use crate::{Broken, Incoming, Outgoing, Peers, Tag};

/// The worst of what all nodes found, figure by figure; the same on all of them, who all call this or none. A figure that is
/// no number, or below 0, counts for nothing.
///
/// # Errors
/// If a node is lost meanwhile.
pub(crate) fn worst<const N: usize>(
    peers: &mut dyn Peers,
    tag: Tag,
    mine: [f64; N],
) -> Result<[f64; N], Broken> {
    let (nodes, node) = (peers.nodes(), peers.node());
    let bytes: Vec<u8> = mine.iter().flat_map(|figure| figure.to_le_bytes()).collect();
    let mut all = vec![bytes.clone(); nodes];
    let out: Vec<_> =
        (0..nodes).map(|n| (n != node).then_some(Outgoing { head: &[], body: &bytes })).collect();
    let room = |(n, body)| (n != node).then_some(Incoming { head: &mut [], body });
    let mut into: Vec<_> = all.iter_mut().map(Vec::as_mut_slice).enumerate().map(room).collect();
    peers.exchange(tag, &out, &mut into)?;
    Ok(all.iter().map(|bytes| decode(bytes)).fold([0.0; N], larger))
}

fn decode<const N: usize>(bytes: &[u8]) -> [f64; N] {
    let (figures, _) = bytes.as_chunks();
    std::array::from_fn(|n| figures.get(n).map_or(0.0, |bytes| f64::from_le_bytes(*bytes)))
}

fn larger<const N: usize>(all: [f64; N], one: [f64; N]) -> [f64; N] {
    std::array::from_fn(|n| if one[n].is_finite() { all[n].max(one[n]) } else { all[n] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryPeers, Phase};
    use std::time::Duration;

    #[test]
    fn all_nodes_come_to_the_same_and_what_is_no_figure_counts_for_nothing() {
        let names = ["a", "b", "c"].map(String::from);
        let found = [[1.0, f64::NAN, -2.0], [0.5, 7.0, -1.0], [f64::INFINITY, 6.0, -3.0]];
        let threads: Vec<_> = MemoryPeers::mesh(&names, Duration::from_secs(20))
            .into_iter()
            .zip(found)
            .map(|(mut peers, mine)| {
                std::thread::spawn(move || worst(&mut peers, Tag::new(1, 1, Phase::Probe), mine).unwrap())
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [1.0, 7.0, 0.0]);
        }
    }

    #[test]
    fn what_is_cut_short_is_no_figure() {
        assert_eq!(decode::<2>(&[1; 5]), [0.0, 0.0]);
        assert_eq!(decode(&1.5f64.to_le_bytes()), [1.5, 0.0]);
    }
}
