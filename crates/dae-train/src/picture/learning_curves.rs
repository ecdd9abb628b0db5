//! Training losses over steps, samples, time or bytes.

use super::axis::Axis;
use super::canvas::FONT;
use super::curve::{SMOOTH_FROM, end, smoothed, span, thinned};
use super::drawing::{Area, Drawing, Drawn, save};
use super::{PictureError, Quantity, Series};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;
use std::path::Path;

/// The size of the plot in pixels, without the legend. It is drawn at twice that, and halved.
const SIZE: (u64, u64) = (1000, 600);
/// The height of an entry of the legend.
const ENTRY: u64 = 26;
const TEXT: RGBColor = RGBColor(60, 60, 67);
const GRID: RGBColor = RGBColor(232, 232, 236);
/// Eight that eyes of all kinds tell apart (Okabe, Ito 2008), yellow and grey replaced for being faint on white.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(180, 80, 150),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(110, 85, 60),
    RGBColor(30, 30, 30),
];
/// Losses that span this factor are drawn on a logarithmic axis.
const LOGARITHMIC_FROM: f64 = 4.0;
/// So is what curves run along, if one goes this many times as far as another, which would be a line upright else.
const APART_FROM: f64 = 10.0;

/// Draws training loss over steps: [`learning_curves()`] of one run.
///
/// # Errors
/// If drawing fails or the disk refuses the file.
pub fn loss_curve(path: &Path, series: &[Series], title: &str) -> Result<(), PictureError> {
    learning_curves(path, series, Quantity::Steps, title)
}

/// Draws training losses over `x` into a PNG or an SVG file: each series faintly as it is and boldly smoothed, on a
/// logarithmic axis where the losses span a factor of four or more. Below stands a legend of those that have a label,
/// with the loss each ends at. Without any points the axes stay empty.
///
/// # Errors
/// If the name of the file ends in neither `.png` nor `.svg`, drawing fails or the disk refuses the file.
pub fn learning_curves(path: &Path, series: &[Series], x: Quantity, title: &str) -> Result<(), PictureError> {
    let mut curves: Vec<Curve<'_>> = series.iter().map(Curve::of).collect();
    let all = |of: fn(&(f64, f64)) -> f64| span(curves.iter().flat_map(|c| &c.points).map(of));
    let (across, losses) = (all(|p| p.0).unwrap_or(0.0..1.0), all(|p| p.1).unwrap_or(0.0..1.0));
    let ends = span(curves.iter().filter_map(|c| c.points.last()).map(|p| p.0)).unwrap_or(0.0..1.0);
    let apart = across.start > 0.0 && ends.end / ends.start >= APART_FROM;
    let (name, unit) = x.axis(if apart { ends.start } else { across.end });
    curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.0 /= unit);
    let across = step_axis(across.start / unit..across.end / unit, apart);
    save(path, &Plot { curves, title, name, across, losses: loss_axis(losses) })
}

/// A series as it is drawn.
struct Curve<'a> {
    label: &'a str,
    points: Vec<(f64, f64)>,
}

impl<'a> Curve<'a> {
    fn of(series: &'a Series) -> Self {
        Self { label: &series.label, points: series.finite() }
    }
}

struct Plot<'a> {
    curves: Vec<Curve<'a>>,
    title: &'a str,
    name: &'a str,
    across: Axis,
    losses: Axis,
}

impl Plot<'_> {
    /// The curves that have an entry in the legend, each with its colour.
    fn entries(&self) -> impl Iterator<Item = (&Curve<'_>, RGBColor)> {
        self.curves.iter().zip(COLOURS.into_iter().cycle()).filter(|(curve, _)| !curve.label.is_empty())
    }
}

impl Drawing for Plot<'_> {
    fn size(&self) -> (u64, u64) {
        let entries = self.entries().count() as u64;
        let legend = if entries == 0 { 0 } else { (entries + 1) * ENTRY };
        (SIZE.0, SIZE.1.saturating_add(legend))
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        area.fill(&WHITE)?;
        let (plot, legend) = area.split_vertically(2 * SIZE.1 as i32);
        self.draw_plot(&plot)?;
        for (row, (curve, colour)) in self.entries().enumerate() {
            draw_entry(&legend, (2 * ENTRY as i32) * row as i32 + ENTRY as i32, curve, colour)?;
        }
        area.present()
    }
}

impl Plot<'_> {
    fn draw_plot<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, text(44))
            .margin(28)
            .margin_right(64)
            .x_label_area_size(96)
            .y_label_area_size(140)
            .build_cartesian_2d(self.across.clone(), self.losses.clone())?;
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(2))
            .light_line_style(TRANSPARENT)
            .axis_style(TEXT.stroke_width(2))
            .x_desc(self.name)
            .y_desc("training loss")
            .axis_desc_style(text(36))
            .label_style(text(30))
            .x_labels(10)
            .y_labels(8)
            .draw()?;
        // Many curves hide each other with their noise.
        let noise = if self.curves.len() > 1 { 0.15 } else { 0.25 };
        let coloured = || self.curves.iter().zip(COLOURS.into_iter().cycle());
        for (curve, colour) in coloured().filter(|(curve, _)| curve.points.len() >= SMOOTH_FROM) {
            let faint = colour.mix(noise).stroke_width(2);
            chart.draw_series(LineSeries::new(thinned(&curve.points), faint))?;
        }
        for (Curve { points, .. }, colour) in coloured() {
            let smooth = if points.len() < SMOOTH_FROM {
                chart.draw_series(points.iter().map(|&p| Circle::new(p, 6, colour.filled())))?;
                points.clone()
            } else {
                smoothed(points)
            };
            chart.draw_series(LineSeries::new(thinned(&smooth), colour.stroke_width(5)))?;
        }
        Ok(())
    }
}

fn text(size: i32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&TEXT)
}

/// A line of the colour, the label, and the loss at the end, around the height `y`.
fn draw_entry<B: DrawingBackend>(area: &Area<B>, y: i32, curve: &Curve<'_>, colour: RGBColor) -> Drawn<B> {
    let (left, right) = (168, 2 * SIZE.0 as i32 - 64);
    let line = PathElement::new([(left, y), (left + 56, y)], colour.stroke_width(6));
    area.draw(&line)?;
    let at = |side| text(32).pos(Pos::new(side, VPos::Center));
    let ends = end(&curve.points).map_or("no step yet".to_owned(), |loss| format!("ends at {loss:.4}"));
    area.draw_text(&ends, &at(HPos::Right), (right, y))?;
    let room = right - left - 84 - area.estimate_text_size(&ends, &at(HPos::Right))?.0 as i32 - 40;
    let label = cut(area, curve.label, room)?;
    area.draw_text(&label, &at(HPos::Left), (left + 84, y))
}

/// So much of a text as fits into `room` pixels.
fn cut<B: DrawingBackend>(
    area: &Area<B>,
    label: &str,
    room: i32,
) -> Result<String, DrawingAreaErrorKind<B::ErrorType>> {
    // No letter is narrower than three pixels, and no label is measured that is longer than all that could fit.
    let mut letters: Vec<char> = label.chars().take((room / 3).max(1) as usize).collect();
    let mut shown = label.to_owned();
    if letters.len() < label.chars().count() {
        shown = letters.iter().chain(&['…']).collect();
    }
    while letters.len() > 1 && area.estimate_text_size(&shown, &text(32))?.0 as i32 > room {
        letters.pop();
        shown = letters.iter().chain(&['…']).collect();
    }
    Ok(shown)
}

fn step_axis(steps: Range<f64>, apart: bool) -> Axis {
    if apart {
        return Axis::logarithmic(steps);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn size(series: &[Series]) -> (u32, u32) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.png");
        learning_curves(&path, series, Quantity::Samples, "title").unwrap();
        let bytes = fs::read(path).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        (reader.info().width, reader.info().height)
    }

    fn decay(n: usize) -> Vec<(f64, f64)> {
        (1..=n).map(|i| (i as f64, 1.0 / i as f64)).collect()
    }

    #[test]
    fn any_points_give_a_picture() {
        for points in [
            vec![],
            vec![(1.0, 0.5)],
            vec![(1.0, f64::NAN)],
            vec![(1.0, 0.0), (2.0, 0.0)],
            vec![(1.0, -3.0), (2.0, f64::INFINITY), (3.0, 1e300)],
            vec![(1.0, 1e-300), (2.0, 1e300)],
            decay(39),
            decay(40),
            decay(20_000),
        ] {
            assert_eq!(size(&[Series { label: String::new(), points }]), (1000, 600));
        }
    }

    #[test]
    fn a_legend_makes_room_for_its_entries() {
        let series = |label: &str| Series { label: label.into(), points: decay(50) };
        let long = "step adam | ".repeat(50);
        let all = [series("a"), series(""), series(&long), Series { label: "none".into(), points: vec![] }];
        assert_eq!(size(&all), (1000, 600 + 4 * 26));
    }

    #[test]
    fn a_short_curve_beside_a_long_one_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.svg");
        let far = |times: f64| Series {
            label: String::new(),
            points: decay(30).into_iter().map(|(x, y)| (times * x, y)).collect(),
        };
        let axis = |series: &[Series]| {
            learning_curves(&path, series, Quantity::Bytes, "").unwrap();
            let svg = fs::read_to_string(&path).unwrap();
            (svg.contains("sent, in kB"), svg.contains("sent, in MB"))
        };
        // 90 kB beside 600 kB, or beside 60 MB.
        assert_eq!(axis(&[far(3e3), far(2e4)]), (true, false));
        assert_eq!(axis(&[far(3e3), far(2e6)]), (true, false));
        assert_eq!(axis(&[far(1e6), far(2e6)]), (false, true));
        assert_eq!(axis(&[far(0.0), far(2e6)]), (false, true));
    }

    #[test]
    fn lines_are_drawn_as_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.svg");
        let label = "a <b> & c".to_owned();
        learning_curves(&path, &[Series { label, points: decay(50) }], Quantity::Bytes, "title").unwrap();
        let svg = fs::read_to_string(&path).unwrap();
        assert!(svg.contains("width=\"1000\" height=\"652\" viewBox=\"0 0 2000 1304\""), "{svg}");
        for words in ["a &lt;b&gt; &amp; c", "ends at 0.0", "sent, in bytes", "training loss", "</svg>"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        let error = learning_curves(&folder.path().join("loss.gif"), &[], Quantity::Steps, "").unwrap_err();
        assert!(error.to_string().contains(".png or .svg"), "{error}");
    }
}
