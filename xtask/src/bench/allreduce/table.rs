//! Medians of the times, and the ratios a reader wants.
use super::contender::{Contender, SIZES};
use crate::bench::table::{median, shown};

/// One measurement of one round.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Who was measured.
    pub who: Contender,
    /// In which round, from 0.
    pub round: u32,
    /// The median microseconds at each size.
    pub medians: [f64; 4],
}

const COLUMNS: [Contender; 7] = [
    Contender::Arena,
    Contender::MpiShm,
    Contender::Sealed,
    Contender::Plain,
    Contender::MpiNodes,
    Contender::MpiTcp,
    Contender::Gloo,
];

/// How many times as fast the first is.
const RATIOS: [(&str, Contender, Contender); 6] = [
    ("arena/shm", Contender::Arena, Contender::MpiShm),
    ("arena/gloo", Contender::Arena, Contender::Gloo),
    ("sealed/mpi", Contender::Sealed, Contender::MpiNodes),
    ("plain/mpi", Contender::Plain, Contender::MpiNodes),
    ("sealed/tcp", Contender::Sealed, Contender::MpiTcp),
    ("sealed/gloo", Contender::Sealed, Contender::Gloo),
];

/// A table with one line for each size: median microseconds, then how many times as fast.
pub fn table(all: &[Measured]) -> String {
    let mut text = format!("{:>9}", "bytes");
    for column in COLUMNS {
        text += &format!("{:>14}", format!("{} us", column.name()));
    }
    for (name, ..) in RATIOS {
        text += &format!("{name:>13}");
    }
    for (at, bytes) in SIZES.into_iter().enumerate() {
        text += &format!("\n{bytes:>9}");
        for column in COLUMNS {
            let times = all.iter().filter(|m| m.who == column).map(|m| m.medians[at]).collect();
            text += &format!("{:>14}", shown(median(times), 1));
        }
        for (_, fast, slow) in RATIOS {
            text += &format!("{:>13}", shown(ratio(all, fast, slow, at), 2));
        }
    }
    text + "\n"
}

/// The median over rounds of the round's own ratio: both sides then saw the same state of the machine.
fn ratio(all: &[Measured], fast: Contender, slow: Contender, at: usize) -> Option<f64> {
    let of = |who: Contender| all.iter().filter(move |m| m.who == who);
    let ratios = of(slow).filter_map(|slow| {
        of(fast).find(|fast| fast.round == slow.round).map(|fast| slow.medians[at] / fast.medians[at])
    });
    median(ratios.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_says_how_many_times_as_fast() {
        let of = |who, round, us| Measured { who, round, medians: [us; 4] };
        let all = [
            of(Contender::Arena, 0, 2.0),
            of(Contender::MpiShm, 0, 4.0),
            of(Contender::Arena, 1, 1.0),
            of(Contender::MpiShm, 1, 2.0),
        ];
        assert_eq!(ratio(&all, Contender::Arena, Contender::MpiShm, 2), Some(2.0));
        let line =
            table(&all).lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(line, ["4096", "1.5", "3.0", "-", "-", "-", "-", "-", "2.00", "-", "-", "-", "-", "-"]);
    }
}
