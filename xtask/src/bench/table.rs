//! Medians of the speeds, and the ratios a reader wants.
use super::contender::{Contender, SIZES, Size};

/// One measurement of one round.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Who was measured.
    pub who: Contender,
    /// At which size.
    pub size: Size,
    /// In which round, from 0.
    pub round: u32,
    /// Samples a second over all workers.
    pub speed: f64,
}

const RATIOS: [(&str, Contender, Contender); 6] = [
    ("2 workers/1", Contender::Dae(2), Contender::Dae(1)),
    ("2 workers/DDP", Contender::Dae(2), Contender::Ddp),
    ("1 worker/bare", Contender::Dae(1), Contender::BareLoop),
    ("nodes/2 workers", Contender::DaeNodes, Contender::Dae(2)),
    ("nodes/DDP", Contender::DaeNodes, Contender::DdpNodes),
    ("zero=1/DDP", Contender::DaeNodesZero, Contender::DdpNodes),
];

/// A table with one line for each size: median samples a second, then ratios.
pub fn table(all: &[Measured]) -> String {
    let all_columns = [
        Contender::Dae(1),
        Contender::Dae(2),
        Contender::BareLoop,
        Contender::Ddp,
        Contender::DaeNodes,
        Contender::DaeNodesZero,
        Contender::DdpNodes,
    ];
    let there = |who: &Contender| all.iter().any(|m| m.who == *who);
    let columns: Vec<_> = all_columns.into_iter().filter(there).collect();
    let ratios: Vec<_> =
        RATIOS.into_iter().filter(|(_, upper, lower)| there(upper) && there(lower)).collect();
    let mut text = format!("{:>6}", "hidden");
    for column in &columns {
        text += &format!("{:>14}", format!("{} {}", column.name(), column.workers()));
    }
    for (name, ..) in &ratios {
        text += &format!("{name:>17}");
    }
    for size in SIZES {
        text += &format!("\n{:>6}", size.hidden);
        for column in &columns {
            let speeds = of(all, *column, size).map(|m| m.speed).collect();
            text += &format!("{:>14}", shown(median(speeds), 0));
        }
        for (_, upper, lower) in &ratios {
            text += &format!("{:>17}", shown(ratio(all, *upper, *lower, size), 2));
        }
    }
    text + "\n"
}

fn of(all: &[Measured], who: Contender, size: Size) -> impl Iterator<Item = &Measured> {
    all.iter().filter(move |m| m.who == who && m.size == size)
}

/// The median over rounds of the round's own ratio: both sides then saw the same state of the machine.
fn ratio(all: &[Measured], upper: Contender, lower: Contender, size: Size) -> Option<f64> {
    let ratios = of(all, upper, size).filter_map(|over| {
        of(all, lower, size).find(|under| under.round == over.round).map(|under| over.speed / under.speed)
    });
    median(ratios.collect())
}

/// The middle one, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// A number, or a dash where there is none.
pub fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(who: Contender, round: u32, speed: f64) -> Measured {
        Measured { who, size: SIZES[0], round, speed }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine was twice as fast in round 1; the ratio is 2 in both.
        let all = [
            measured(Contender::Dae(1), 0, 10.0),
            measured(Contender::Dae(2), 0, 20.0),
            measured(Contender::Dae(1), 1, 20.0),
            measured(Contender::Dae(2), 1, 40.0),
            measured(Contender::Dae(2), 2, 99.0),
        ];
        assert_eq!(ratio(&all, Contender::Dae(2), Contender::Dae(1), SIZES[0]), Some(2.0));
        assert_eq!(ratio(&all, Contender::Dae(2), Contender::Ddp, SIZES[0]), None);
    }

    #[test]
    fn what_was_not_measured_is_left_out_or_a_dash() {
        let text = table(&[measured(Contender::Dae(1), 0, 1234.4)]);
        let line = text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(line, ["512", "1234"]);
        let line = text.lines().nth(2).unwrap().split_whitespace().collect::<Vec<_>>();
        assert_eq!(line, ["1024", "-"]);
    }
}
