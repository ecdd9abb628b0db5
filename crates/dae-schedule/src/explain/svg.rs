//! [`Svg`]: rectangles, lines and text, written by hand.

use std::fmt::Write;

/// A picture that grows.
#[derive(Clone, Debug, Default)]
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
}

/// Which end of a text a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// Pixels that a letter is wide, at most, in text of size 12.
const LETTER: f64 = 7.3;

impl Svg {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A rectangle from its upper left corner; colours as CSS writes them.
    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str, stroke: &str) {
        self.reach(x + width, y + height);
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="4" fill="{fill}" stroke="{stroke}"/>"#
        );
    }

    /// A line with an arrow at its end, and at its start if it goes both ways.
    pub fn arrow(&mut self, from: (f64, f64), to: (f64, f64), both: bool) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.reach(x1.max(x2), y1.max(y2));
        // Writing to a String cannot fail.
        let _ = writeln!(
            self.body,
            r##"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="#555"/>"##
        );
        self.head(from, to);
        if both {
            self.head(to, from);
        }
    }

    /// The head of an arrow.
    fn head(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        const LONG: f64 = 6.0;
        const WIDE: f64 = 3.0;
        let far = (x2 - x1).hypot(y2 - y1).max(f64::MIN_POSITIVE);
        let (dx, dy) = ((x2 - x1) / far, (y2 - y1) / far);
        let (back_x, back_y) = (x2 - LONG * dx, y2 - LONG * dy);
        let (left, right) =
            ((back_x - WIDE * dy, back_y + WIDE * dx), (back_x + WIDE * dy, back_y - WIDE * dx));
        let _ = writeln!(
            self.body,
            r##"<polygon points="{x2:.1},{y2:.1} {:.1},{:.1} {:.1},{:.1}" fill="#555"/>"##,
            left.0, left.1, right.0, right.1
        );
    }

    /// A line of text of this size on the base line y, cut where it would be wider than `room` pixels.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: f64, room: f64, text: &str) {
        let most = (room / (LETTER * size / 12.0)).max(1.0) as usize;
        let shown: String = match text.chars().count() > most {
            true => text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect(),
            false => text.to_owned(),
        };
        let wide = shown.chars().count() as f64 * LETTER * size / 12.0;
        let (anchor, end) = match anchor {
            Anchor::Start => ("start", x + wide),
            Anchor::Middle => ("middle", x + wide / 2.0),
            Anchor::End => ("end", x),
        };
        self.reach(end, y + size / 3.0);
        let _ = writeln!(
            self.body,
            r##"<text x="{x:.1}" y="{y:.1}" font-size="{size:.0}" text-anchor="{anchor}" fill="#222">{}</text>"##,
            escaped(&shown)
        );
    }

    /// The file.
    pub fn finish(self) -> String {
        let (width, height) = (self.width + 10.0, self.height + 10.0);
        format!(
            concat!(
                r##"<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0}" height="{h:.0}" "##,
                r##"viewBox="0 0 {w:.0} {h:.0}" font-family="ui-monospace, monospace">"##,
                "\n",
                r##"<rect width="100%" height="100%" fill="white"/>"##,
                "\n{body}</svg>\n"
            ),
            w = width,
            h = height,
            body = self.body
        )
    }

    fn reach(&mut self, x: f64, y: f64) {
        (self.width, self.height) = (self.width.max(x), self.height.max(y));
    }
}

/// Text that no reader takes for markup.
fn escaped(text: &str) -> String {
    let letter = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_cut() {
        let mut svg = Svg::new();
        svg.text((0.0, 10.0), Anchor::Start, 12.0, 1e3, "a<b> & \"c\"\u{7}");
        svg.text((0.0, 20.0), Anchor::Middle, 12.0, 30.0, "longer than that");
        let written = svg.finish();
        assert!(written.contains("a&lt;b&gt; &amp; &quot;c&quot; <"), "{written}");
        assert!(written.contains(">lon\u{2026}<"), "{written}");
        assert!(written.starts_with("<svg ") && written.ends_with("</svg>\n"));
    }
}
