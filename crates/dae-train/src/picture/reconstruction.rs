//! Clean, corrupted and denoised images in rows.

use super::PictureError;
use super::canvas::{Canvas, FONT, draw_error};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// One row of a sheet.
#[derive(Debug, Clone)]
pub struct Row {
    /// What stands on its left.
    pub label: String,
    /// Grey images of one size, pixels in [0, 1], row by row.
    pub images: Vec<Vec<f32>>,
}

/// Room for the labels, in pixels.
const LABELS: usize = 116;
/// The sheet is drawn at this many times its size, and halved, for smooth text.
const ZOOM: usize = 2;
const MARGIN: usize = 14;
const GAP: usize = 4;
/// The width that small images are enlarged to fill.
const PREFERRED_WIDTH: usize = 1100;

/// Draws a sheet with one row of images below the other, the n-th of each row in the n-th column, into a PNG file.
/// Images are `width` x `height` pixels and are enlarged up to four times, each pixel a square.
///
/// # Errors
/// If an image has another size, the sheet would be too large, or the disk refuses the file.
pub fn reconstruction(path: &Path, rows: &[Row], width: usize, height: usize) -> Result<(), PictureError> {
    for row in rows {
        if let Some(image) = row.images.iter().find(|i| i.len() != width.saturating_mul(height)) {
            let (expected, found) = (width.saturating_mul(height), image.len());
            return Err(PictureError::Image { row: row.label.clone(), expected, found });
        }
    }
    let columns = rows.iter().map(|r| r.images.len()).max().unwrap_or(0);
    let scale = (PREFERRED_WIDTH / columns.saturating_mul(width).max(1)).clamp(1, 4);
    // The distance between one image and the next.
    let pitch = |pixels: usize| pixels.saturating_mul(scale).saturating_add(GAP);
    let side = |count: usize, pixels: usize| count.saturating_mul(pitch(pixels)).saturating_sub(GAP);
    let sheet_width = side(columns, width).saturating_add(LABELS + 2 * MARGIN);
    let sheet_height = side(rows.len(), height).saturating_add(2 * MARGIN);
    let zoomed = |pixels: usize| (pixels as u64).saturating_mul(ZOOM as u64);
    let mut canvas = Canvas::new(zoomed(sheet_width), zoomed(sheet_height))?;

    for (r, row) in rows.iter().enumerate() {
        let top = MARGIN + r * pitch(height);
        for (c, image) in row.images.iter().enumerate() {
            let left = MARGIN + LABELS + c * pitch(width);
            for (i, &grey) in image.iter().enumerate() {
                let (y, x) = (i / width, i % width);
                let (left, top) = (left + x * scale, top + y * scale);
                canvas.fill(ZOOM * left, ZOOM * top, ZOOM * scale, grey);
            }
        }
    }
    {
        let area = canvas.backend().into_drawing_area();
        let style =
            (FONT, 38).into_font().color(&RGBColor(60, 60, 67)).pos(Pos::new(HPos::Right, VPos::Center));
        for (r, row) in rows.iter().enumerate() {
            let middle = MARGIN + r * pitch(height) + height * scale / 2;
            let at = ((ZOOM * (MARGIN + LABELS - 12)) as i32, (ZOOM * middle) as i32);
            area.draw_text(&row.label, &style, at).map_err(draw_error)?;
        }
        area.present().map_err(draw_error)?;
    }
    canvas.halved().write(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, images: usize, pixels: usize) -> Row {
        Row { label: label.into(), images: vec![vec![0.5; pixels]; images] }
    }

    #[test]
    fn pixels_are_enlarged_and_clamped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reconstruction.png");
        let rows = [
            Row { label: "clean".into(), images: vec![vec![0.0, 1.0], vec![-3.0, 7.0]] },
            Row { label: "denoised".into(), images: vec![vec![f32::NAN, 0.5]] },
        ];
        reconstruction(&path, &rows, 2, 1).unwrap();
        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        let at = |x: usize, y: usize| &rgb[3 * (y * info.width as usize + x)..][..3];
        let (left, top) = (MARGIN + LABELS, MARGIN);
        assert_eq!(at(left + 3, top + 3), [0; 3]);
        assert_eq!(at(left + 4, top), [255; 3]);
        assert_eq!(at(left + 8 + GAP, top), [0; 3]);
        assert_eq!(at(left, top + 4 + GAP), [220, 30, 30]);
        assert_eq!(at(left + 4, top + 4 + GAP), [128; 3]);
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reconstruction.png");
        let error = reconstruction(&path, &[row("clean", 2, 5)], 2, 2).unwrap_err();
        assert_eq!(error.to_string(), "an image in the row \"clean\" has 5 pixels instead of 4");
        let error = reconstruction(&path, &[row("clean", 2, 0)], 0, usize::MAX).unwrap_err();
        assert!(matches!(error, PictureError::Size { .. }), "{error}");
        assert!(!path.exists());
        reconstruction(&path, &[], 28, 28).unwrap();
        reconstruction(&path, &[row("none", 0, 0)], 28, 28).unwrap();
    }
}
