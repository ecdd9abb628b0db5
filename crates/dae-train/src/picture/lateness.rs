//! How late the pushes of a join came, and how long its children waited.

use super::PictureError;
use super::canvas::FONT;
use super::drawing::{Area, Drawing, Drawn, save};
use crate::centre::{ChildTally, Tally};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// Children that have a row; of more, only so many are drawn, and the rest is told.
const MOST_ROWS: usize = 32;
/// Bars of a row. Where pushes came later than that many updates, a bar stands for several.
const MOST_BARS: u64 = 40;
/// Numbers under the bars.
const MOST_NUMBERS: u64 = 14;

// In pixels of the drawing, which is twice the size that is shown.
const WIDE: i32 = 2000;
const TOP: i32 = 190;
const ROW: i32 = 92;
const BOTTOM: i32 = 130;
const BAR: i32 = 56;
const BARS: (i32, i32) = (240, 1360);
const WAITED: (i32, i32) = (1460, 1800);

const TEXT: RGBColor = RGBColor(60, 60, 67);
const GRID: RGBColor = RGBColor(216, 216, 222);
const LATE: RGBColor = RGBColor(0, 114, 178);
const WAITING: RGBColor = RGBColor(230, 159, 0);

/// Draws a row for each child of a join: the shares of its pushes that were so many updates late, and how long it waited
/// in all, into a PNG or an SVG file.
///
/// # Errors
/// If the name of the file ends in neither `.png` nor `.svg`, drawing fails or the disk refuses the file.
pub fn lateness(path: &Path, tally: &Tally, title: &str) -> Result<(), PictureError> {
    save(path, &Sheet { children: &tally.children, title })
}

struct Sheet<'a> {
    children: &'a [ChildTally],
    title: &'a str,
}

impl Sheet<'_> {
    fn rows(&self) -> &[ChildTally] {
        &self.children[..self.children.len().min(MOST_ROWS)]
    }

    /// Where the rows end.
    fn floor(&self) -> i32 {
        TOP + ROW * self.rows().len() as i32
    }
}

impl Drawing for Sheet<'_> {
    fn size(&self) -> (u64, u64) {
        (WIDE as u64 / 2, (self.floor() + BOTTOM) as u64 / 2)
    }

    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B> {
        area.fill(&WHITE)?;
        let write = |what: &str, size: i32, side: HPos, at: (i32, i32)| {
            let style = (FONT, size).into_font().color(&TEXT).pos(Pos::new(side, VPos::Center));
            area.draw_text(what, &style, at)
        };
        let bins = Bins::of(self.rows());
        let most = self.rows().iter().map(|child| bins.shares(child).into_iter().fold(0.0, f64::max));
        let most = most.fold(0.0, f64::max);
        let longest = self.rows().iter().map(|child| child.waited_s).fold(0.0, f64::max);
        let part =
            |value: f64, of: f64, room: i32| if of > 0.0 { (f64::from(room) * value / of) as i32 } else { 0 };

        write(self.title, 44, HPos::Center, (WIDE / 2, 52))?;
        write("pushes, by how many updates late they came", 34, HPos::Left, (BARS.0, 132))?;
        write("waited, in all", 34, HPos::Left, (WAITED.0, 132))?;
        for (row, child) in self.rows().iter().enumerate() {
            let floor = TOP + ROW * (row as i32 + 1);
            let middle = floor - BAR / 2;
            write(&format!("child {row}"), 32, HPos::Right, (BARS.0 - 28, middle))?;
            if child.dropped > 0 {
                write(&format!("{} dropped", child.dropped), 24, HPos::Right, (BARS.0 - 28, floor - 6))?;
            }
            area.draw(&PathElement::new([(BARS.0, floor), (BARS.1, floor)], GRID.stroke_width(2)))?;
            let shares = bins.shares(child);
            let highest = shares.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            for (bin, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let (left, right) = bins.sides(bin as u64);
                // What is rare is still there.
                let top = floor - part(share, most, BAR).max(2);
                area.draw(&Rectangle::new([(left, top), (right, floor)], LATE.filled()))?;
                if highest.is_some_and(|(at, _)| at == bin) {
                    let percent = format!("{:.0} %", 100.0 * share);
                    write(&percent, 24, HPos::Center, ((left + right) / 2, top - 14))?;
                }
            }
            let end = WAITED.0 + part(child.waited_s, longest, WAITED.1 - WAITED.0).max(2);
            area.draw(&Rectangle::new([(WAITED.0, floor - BAR + 8), (end, floor - 8)], WAITING.filled()))?;
            write(&seconds(child.waited_s), 28, HPos::Left, (end + 14, middle))?;
        }
        for bin in (0..bins.count).step_by(bins.count.div_ceil(MOST_NUMBERS).max(1) as usize) {
            let (left, right) = bins.sides(bin);
            write(&bins.name(bin), 28, HPos::Center, ((left + right) / 2, self.floor() + 26))?;
        }
        let left_out = self.children.len() - self.rows().len();
        let axis = match left_out {
            0 => "updates late".to_owned(),
            more => format!("updates late; {more} more children are not drawn"),
        };
        write(&axis, 34, HPos::Center, ((BARS.0 + BARS.1) / 2, self.floor() + 82))?;
        area.present()
    }
}

/// The bars of a row: how many there are, and how many updates late each stands for.
struct Bins {
    count: u64,
    width: u64,
}

impl Bins {
    fn of(children: &[ChildTally]) -> Self {
        let latest = children.iter().filter_map(|child| child.staleness.keys().last()).max();
        let latest = latest.copied().unwrap_or(0);
        let width = (latest / MOST_BARS).saturating_add(1);
        Self { count: latest / width + 1, width }
    }

    /// The share of a child's pushes in each bar.
    fn shares(&self, child: &ChildTally) -> Vec<f64> {
        let all: u64 = child.staleness.values().sum();
        let mut shares = vec![0.0; self.count as usize];
        for (&late, &pushes) in &child.staleness {
            if let Some(share) = shares.get_mut((late / self.width) as usize) {
                *share += pushes as f64 / all.max(1) as f64;
            }
        }
        shares
    }

    /// The left and the right side of a bar.
    fn sides(&self, bin: u64) -> (i32, i32) {
        let pitch = (f64::from(BARS.1 - BARS.0) / self.count as f64).min(110.0);
        let at = |place: f64| BARS.0 + (pitch * place).round() as i32;
        (at(bin as f64 + 0.12), at(bin as f64 + 0.88))
    }

    fn name(&self, bin: u64) -> String {
        let first = bin * self.width;
        match self.width {
            1 => first.to_string(),
            more => format!("{first}-{}", first.saturating_add(more - 1)),
        }
    }
}

/// A time, with as many digits as it deserves.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 100.0 => format!("{s:.1} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(children: usize, latest: u64) -> Tally {
        let mut tally = Tally::new(children);
        for child in 0..children {
            tally.applied(child, 0);
            tally.applied(child, latest);
            tally.applied(child, latest);
        }
        tally
    }

    #[test]
    fn every_push_is_in_one_bar() {
        for latest in [0, 1, 39, 40, 41, 1000, u64::MAX] {
            let tally = tally(3, latest);
            let bins = Bins::of(&tally.children);
            assert!(bins.count <= MOST_BARS + 1, "{latest}");
            let shares = bins.shares(&tally.children[0]);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{latest}: {shares:?}");
            let expected = if latest == 0 { 1.0 } else { 2.0 / 3.0 };
            assert!((shares.last().unwrap() - expected).abs() < 1e-12, "{latest}: {shares:?}");
        }
        let bins = Bins::of(&tally(1, 100).children);
        assert_eq!((bins.width, bins.name(0), bins.name(1)), (3, "0-2".into(), "3-5".into()));
    }

    #[test]
    fn any_tally_gives_a_picture() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("late.svg");
        for children in [0, 1, 100] {
            lateness(&path, &tally(children, 5), "word").unwrap();
            let svg = std::fs::read_to_string(&path).unwrap();
            // Two bars, one for waiting, and the ground.
            assert_eq!(svg.matches("<rect").count(), 1 + 3 * children.min(MOST_ROWS), "{svg}");
            assert_eq!(svg.contains("68 more children"), children == 100, "{svg}");
        }
        let mut tally = tally(2, 1);
        tally.dropped(1);
        tally.children[0].waited_s = f64::NAN;
        lateness(&path, &tally, "word").unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("1 dropped"));
    }
}
