//! Medians of the figures, and how many times as fast ours is.
use super::contender::{Contender, Figures};
use crate::bench::table::{median, shown};

/// One measurement of one round.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Who was measured.
    pub who: Contender,
    /// In which round, from 0.
    pub round: u32,
    /// What came of it.
    pub figures: Figures,
}

/// What a line of the table is about.
struct Row {
    name: &'static str,
    digits: usize,
    of: fn(&Figures) -> Option<f64>,
    /// Whether less is faster.
    is_time: bool,
}

const ROWS: [Row; 3] = [
    Row { name: "ask, us", digits: 1, of: |f| Some(f.ask_us), is_time: true },
    Row { name: "asks/s in flight", digits: 0, of: |f| f.pipelined_per_s, is_time: false },
    Row { name: "64 MiB, GB/s", digits: 2, of: |f| Some(f.part_gb_per_s), is_time: false },
];

const OTHERS: [Contender; 3] = [Contender::Loopback, Contender::Ray, Contender::Monarch];

/// A table with one line for each figure: medians, then how many times as fast ours is as each of the others.
pub fn table(all: &[Measured]) -> String {
    let mut text = format!("{:>17}{:>12}", "", Contender::Dae.name());
    for other in OTHERS {
        text += &format!("{:>12}", other.name());
    }
    for other in OTHERS {
        text += &format!("{:>14}", format!("to {}", other.name()));
    }
    for row in &ROWS {
        text += &format!("\n{:>17}", row.name);
        for who in [Contender::Dae].iter().chain(&OTHERS) {
            let values = all.iter().filter(|m| m.who == *who).filter_map(|m| (row.of)(&m.figures));
            text += &format!("{:>12}", shown(median(values.collect()), row.digits));
        }
        for other in OTHERS {
            text += &format!("{:>14}", shown(times_as_fast(all, row, other), 2));
        }
    }
    text + "\n"
}

/// The median over rounds of the round's own ratio: both sides then saw the same state of the machine.
fn times_as_fast(all: &[Measured], row: &Row, other: Contender) -> Option<f64> {
    let ratio = |ours: &Measured| {
        let theirs = all.iter().find(|m| m.who == other && m.round == ours.round)?;
        let (ours, theirs) = ((row.of)(&ours.figures)?, (row.of)(&theirs.figures)?);
        Some(if row.is_time { theirs / ours } else { ours / theirs })
    };
    median(all.iter().filter(|m| m.who == Contender::Dae).filter_map(ratio).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(who: Contender, round: u32, ask_us: f64, per_s: Option<f64>) -> Measured {
        Measured { who, round, figures: Figures { ask_us, pipelined_per_s: per_s, part_gb_per_s: 1.0 } }
    }

    #[test]
    fn faster_is_above_one_for_times_and_for_speeds() {
        let all = [
            measured(Contender::Dae, 0, 50.0, Some(300.0)),
            measured(Contender::Ray, 0, 1000.0, Some(100.0)),
            // Everything takes twice as long in round 1; the ratios are the same.
            measured(Contender::Dae, 1, 100.0, Some(150.0)),
            measured(Contender::Ray, 1, 2000.0, Some(50.0)),
        ];
        assert_eq!(times_as_fast(&all, &ROWS[0], Contender::Ray), Some(20.0));
        assert_eq!(times_as_fast(&all, &ROWS[1], Contender::Ray), Some(3.0));
        assert_eq!(times_as_fast(&all, &ROWS[0], Contender::Monarch), None);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let all = [measured(Contender::Dae, 0, 50.0, Some(2e5)), measured(Contender::Loopback, 0, 5.0, None)];
        let text = table(&all);
        let line = text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(line, ["asks/s", "in", "flight", "200000", "-", "-", "-", "-", "-", "-"]);
    }
}
