//! A curve: smoothed, thinned, and where it ends.

use std::ops::Range;

/// Curves with fewer points are drawn as they are; others faintly, with a smoothed one over them.
pub(super) const SMOOTH_FROM: usize = 40;
/// The points of a curve that are drawn, at most about two a pixel.
const MAX_POINTS: usize = 4000;

/// One curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it; nothing for no entry.
    pub label: String,
    /// Places along the axis, rising, and losses. Those that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The points that can be drawn.
    pub(super) fn finite(&self) -> Vec<(f64, f64)> {
        self.points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).copied().collect()
    }

    /// The loss that the drawn curve ends at: of a long one the mean of its last few.
    pub fn end(&self) -> Option<f64> {
        end(&self.finite())
    }
}

/// The loss that the drawn curve of these points ends at.
pub(super) fn end(points: &[(f64, f64)]) -> Option<f64> {
    let reach = if points.len() < SMOOTH_FROM { 0 } else { reach(points.len()) };
    let last = &points[points.len().saturating_sub(reach + 1)..];
    (!last.is_empty()).then(|| last.iter().map(|p| p.1).sum::<f64>() / last.len() as f64)
}

/// The least and the greatest of finite numbers.
pub(super) fn span(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.fold(None, |range, v| match range {
        None => Some(v..v),
        Some(r) => Some(r.start.min(v)..r.end.max(v)),
    })
}

/// How far a mean reaches to each side.
fn reach(points: usize) -> usize {
    points / 80 + 1
}

/// Centred running means over about a fortieth of the curve, so that a smoothed curve does not lag behind.
pub(super) fn smoothed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let reach = reach(points.len());
    let mut sums = vec![0.0];
    sums.extend(points.iter().scan(0.0, |sum, p| {
        *sum += p.1;
        Some(*sum)
    }));
    let mean = |i: usize| {
        // Near the start, where curves are steep, as far to the right as there is to the left.
        let reach = reach.min(i);
        let (from, to) = (i - reach, (i + reach + 1).min(points.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    (0..points.len()).map(|i| (points[i].0, mean(i))).collect()
}

/// The least and the greatest loss of each stretch, in their order: the same picture from fewer points.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(MAX_POINTS);
    for stretch in points.chunks(points.len().div_ceil(MAX_POINTS / 2)) {
        let by_loss = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let least = stretch.iter().min_by(by_loss);
        let greatest = stretch.iter().max_by(by_loss);
        let mut pair: Vec<_> = least.into_iter().chain(greatest).copied().collect();
        pair.sort_by(|a, b| a.0.total_cmp(&b.0));
        pair.dedup();
        kept.extend(pair);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_keeps_straight_lines_and_the_start() {
        let line: Vec<_> = (0..1000).map(|i| (f64::from(i), f64::from(i) * 2.0)).collect();
        for (p, q) in smoothed(&line).iter().zip(&line).take(950) {
            assert!((p.1 - q.1).abs() < 1e-9, "{p:?} {q:?}");
        }
    }

    #[test]
    fn a_curve_ends_where_it_is_drawn_to_end() {
        let wave = |n: u32| Series {
            label: String::new(),
            points: (0..n).map(|i| (f64::from(i), f64::from(i * i % 7))).collect(),
        };
        for n in [1, 39, 40, 1000] {
            let series = wave(n);
            let drawn = if (n as usize) < SMOOTH_FROM { series.finite() } else { smoothed(&series.finite()) };
            assert_eq!(series.end(), drawn.last().map(|p| p.1), "{n}");
        }
        assert_eq!(wave(0).end(), None);
        assert_eq!(
            Series { label: String::new(), points: vec![(1.0, 0.5), (2.0, f64::NAN)] }.end(),
            Some(0.5)
        );
    }

    #[test]
    fn thinning_keeps_the_extremes_and_the_order() {
        let points: Vec<_> = (0..100_000).map(|i| (f64::from(i), f64::from(i).sin())).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= MAX_POINTS && kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(span(kept.iter().map(|p| p.1)), span(points.iter().map(|p| p.1)));
    }
}
