//! An axis of a plot: linear or logarithmic, with ticks at round numbers.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// More ticks than this are never made, whatever the range.
const MAX_TICKS: usize = 64;

/// Plotters' own logarithmic axis has ticks at odd numbers, and its linear one does not end on some ranges.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    range: Range<f64>,
    logarithmic: bool,
}

impl Axis {
    /// From `range.start` to `range.end`.
    pub fn linear(range: Range<f64>) -> Self {
        Self { range, logarithmic: false }
    }

    /// The same, for a range above 0.
    pub fn logarithmic(range: Range<f64>) -> Self {
        Self { range, logarithmic: true }
    }

    /// Where a value lies, from 0 at the start of the range to 1 at its end.
    fn place(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        if self.logarithmic {
            (value / start).ln() / (end / start).ln()
        } else {
            (value - start) / (end - start)
        }
    }

    fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.clamp(2, MAX_TICKS);
        if self.logarithmic { self.decades(most) } else { self.steps(most) }
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn steps(&self, most: usize) -> Vec<f64> {
        let Range { start, end } = self.range;
        let least = (end - start) / most as f64;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= least);
        let Some(step) = step.filter(|s| s.is_finite() && *s > 0.0) else {
            return vec![start];
        };
        let first = (start / step).ceil();
        let ticks = (0..=most).map(|i| (first + i as f64) * step);
        ticks.take_while(|&t| t <= end * (1.0 + 1e-12)).collect()
    }

    /// Powers of ten: all of them, with as many multiples between as there is room for, or every n-th.
    fn decades(&self, most: usize) -> Vec<f64> {
        let Range { start, end } = self.range;
        let (low, high) = (start.log10().ceil() as i32, end.log10().floor() as i32);
        let inside = (high - low + 1).max(0) as usize;
        let stride = inside.div_ceil(most).max(1);
        let ticks = |multiples: &[f64]| -> Vec<f64> {
            // The power below the range has multiples inside.
            let powers = [low - 1].into_iter().chain((low..=high).step_by(stride));
            let ticks = powers.flat_map(|p| multiples.iter().map(move |m| m * 10f64.powi(p)));
            ticks.filter(|t| self.range.contains(t)).collect()
        };
        let finer = [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0][..], &[1.0, 2.0, 5.0]];
        finer.into_iter().map(ticks).find(|ticks| ticks.len() <= most).unwrap_or_else(|| ticks(&[1.0]))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let length = f64::from(limit.1) - f64::from(limit.0);
        limit.0 + (length * self.place(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Faint lines between the labelled ones are not drawn.
        if hint.weight().allow_light_points() { vec![] } else { self.ticks(hint.max_num_points()) }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        number(*value)
    }
}

/// A number as briefly as an axis needs it.
fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e6).contains(&a) => {
            // Four significant digits, without the zeros that say nothing.
            let decimals = (3 - a.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{x:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        _ => {
            let text = format!("{x:.1e}");
            text.replace(".0e", "e")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Axis::linear(0.0..1000.0).ticks(5), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(Axis::linear(3.0..7.0).ticks(4), [3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(Axis::logarithmic(0.03..0.7).ticks(8), [0.05, 0.1, 0.2, 0.5]);
        let close = Axis::logarithmic(0.08..0.75).ticks(8).into_iter().map(number);
        assert_eq!(close.collect::<Vec<_>>(), ["0.1", "0.15", "0.2", "0.3", "0.4", "0.5", "0.7"]);
        assert_eq!(Axis::logarithmic(0.5..2e4).ticks(6), [1.0, 10.0, 100.0, 1000.0, 1e4]);
    }

    #[test]
    fn absurd_ranges_end() {
        for range in [0.0..0.0, -1e308..1e308, 1e300..1e300, 0.0..5e-324, f64::NAN..1.0] {
            assert!(Axis::linear(range).ticks(10).len() <= 11);
        }
        for range in [1e-300..1e300, 5e-324..1.0, 1.0..1.0] {
            assert!(Axis::logarithmic(range).ticks(10).len() <= 30);
        }
    }

    #[test]
    fn numbers_are_brief() {
        let shown = [0.0, 400.0, 12000.0, 0.05, 0.125, 1e-5, 2e7, -0.5].map(number);
        assert_eq!(shown, ["0", "400", "12000", "0.05", "0.125", "1e-5", "2e7", "-0.5"]);
    }
}
