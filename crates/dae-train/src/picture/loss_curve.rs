//! The training loss over steps.

use super::PictureError;
use super::axis::Axis;
use super::canvas::{Canvas, FONT, draw_error};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// One curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend calls it; nothing for no entry.
    pub label: String,
    /// Steps and losses, by rising step. Those that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// The picture's size in pixels. It is drawn at twice that, and halved.
const SIZE: (u64, u64) = (1000, 600);
const TEXT: RGBColor = RGBColor(60, 60, 67);
const GRID: RGBColor = RGBColor(232, 232, 236);
const COLOURS: [RGBColor; 6] = [
    RGBColor(33, 102, 172),
    RGBColor(214, 96, 30),
    RGBColor(27, 135, 85),
    RGBColor(150, 70, 160),
    RGBColor(120, 90, 50),
    RGBColor(200, 40, 90),
];
/// Losses that span this factor are drawn on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 10.0;
/// Curves with fewer points are drawn as they are; others faintly, with a smoothed one over them.
const SMOOTH_FROM: usize = 20;
/// The points of a curve that are drawn, at most about two a pixel.
const MAX_POINTS: usize = 4000;

/// Draws training loss over steps into a PNG file: each series faintly as it is and boldly smoothed, on a logarithmic
/// axis where the losses span a factor of ten or more. Without any points the axes stay empty.
///
/// # Errors
/// If drawing fails or the disk refuses the file.
pub fn loss_curve(path: &Path, series: &[Series], title: &str) -> Result<(), PictureError> {
    let series: Vec<(&str, Vec<(f64, f64)>)> = series
        .iter()
        .map(|s| {
            let finite = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
            (s.label.as_str(), s.points.iter().filter(finite).copied().collect())
        })
        .collect();
    let all = || series.iter().flat_map(|(_, points)| points);
    let steps = span(all().map(|p| p.0)).unwrap_or(0.0..1.0);
    let losses = span(all().map(|p| p.1)).unwrap_or(0.0..1.0);

    let mut canvas = Canvas::new(2 * SIZE.0, 2 * SIZE.1)?;
    {
        let area = canvas.backend().into_drawing_area();
        draw(&area, &series, title, step_axis(steps), loss_axis(losses)).map_err(draw_error)?;
    }
    canvas.halved().write(path)
}

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;

fn draw<'a>(
    area: &Area<'a>,
    series: &[(&str, Vec<(f64, f64)>)],
    title: &str,
    steps: Axis,
    losses: Axis,
) -> Result<(), DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>> {
    let text = |size: i32| (FONT, size).into_font().color(&TEXT);
    let mut chart = ChartBuilder::on(area)
        .caption(title, text(44))
        .margin(28)
        .margin_right(64)
        .x_label_area_size(96)
        .y_label_area_size(140)
        .build_cartesian_2d(steps, losses)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID.stroke_width(2))
        .light_line_style(TRANSPARENT)
        .axis_style(TEXT.stroke_width(2))
        .x_desc("step")
        .y_desc("training loss")
        .axis_desc_style(text(36))
        .label_style(text(30))
        .x_labels(10)
        .y_labels(8)
        .draw()?;
    for ((label, points), colour) in series.iter().zip(COLOURS.iter().cycle()) {
        let bold = colour.stroke_width(5);
        let curve = if points.len() < SMOOTH_FROM {
            chart.draw_series(points.iter().map(|&p| Circle::new(p, 6, colour.filled())))?;
            points.clone()
        } else {
            let faint = colour.mix(0.25).stroke_width(2);
            chart.draw_series(LineSeries::new(thinned(points), faint))?;
            smoothed(points)
        };
        let drawn = chart.draw_series(LineSeries::new(thinned(&curve), bold))?;
        if !label.is_empty() {
            drawn.label(*label).legend(move |(x, y)| PathElement::new([(x, y), (x + 40, y)], bold));
        }
    }
    if series.iter().any(|(label, _)| !label.is_empty()) {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(text(32))
            .legend_area_size(56)
            .margin(24)
            .background_style(WHITE.mix(0.85))
            .border_style(GRID.stroke_width(2))
            .draw()?;
    }
    area.present()
}

fn step_axis(steps: Range<f64>) -> Axis {
    let lone = steps.start == steps.end;
    Axis::linear(if lone { steps.start - 1.0..steps.end + 1.0 } else { steps })
}

fn loss_axis(losses: Range<f64>) -> Axis {
    let Range { start, end } = losses;
    if start > 0.0 && end / start >= LOGARITHMIC_FROM {
        return Axis::logarithmic(start / 1.15..end * 1.15);
    }
    // A little air, also for a flat curve; but none below zero for losses that are never negative.
    let air = 0.05 * (end - start).max(start.abs() * 0.1).max(1e-6);
    let floor = if start >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    Axis::linear((start - air).max(floor)..end + air)
}

/// The least and the greatest of finite numbers.
fn span(values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    values.fold(None, |range, v| match range {
        None => Some(v..v),
        Some(r) => Some(r.start.min(v)..r.end.max(v)),
    })
}

/// Centred running means over about a fortieth of the curve, so that a smoothed curve does not lag behind.
fn smoothed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let reach = points.len() / 80 + 1;
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
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
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

    fn png(points: Vec<(f64, f64)>) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.png");
        loss_curve(&path, &[Series { label: "a".into(), points }], "title").unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn any_points_give_a_picture() {
        let decay = |n: usize| (1..=n).map(|i| (i as f64, 1.0 / i as f64)).collect::<Vec<_>>();
        for points in [
            vec![],
            vec![(1.0, 0.5)],
            vec![(1.0, f64::NAN)],
            vec![(1.0, 0.0), (2.0, 0.0)],
            vec![(1.0, -3.0), (2.0, f64::INFINITY), (3.0, 1e300)],
            vec![(1.0, 1e-300), (2.0, 1e300)],
            decay(19),
            decay(20),
            decay(20_000),
        ] {
            let bytes = png(points);
            let info = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
            assert_eq!((info.info().width, info.info().height), (1000, 600));
        }
    }

    #[test]
    fn smoothing_keeps_straight_lines_and_the_start() {
        let line: Vec<_> = (0..1000).map(|i| (f64::from(i), f64::from(i) * 2.0)).collect();
        for (p, q) in smoothed(&line).iter().zip(&line).take(950) {
            assert!((p.1 - q.1).abs() < 1e-9, "{p:?} {q:?}");
        }
    }

    #[test]
    fn thinning_keeps_the_extremes_and_the_order() {
        let points: Vec<_> = (0..100_000).map(|i| (f64::from(i), f64::from(i).sin())).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= MAX_POINTS && kept.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(span(kept.iter().map(|p| p.1)), span(points.iter().map(|p| p.1)));
    }
}
