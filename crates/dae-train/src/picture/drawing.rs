//! One drawing, two kinds of file.

use super::PictureError;
use super::canvas::{Canvas, draw_error};
use crate::run_folder::write_atomic;
use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::prelude::DrawingBackend;
use std::path::Path;

/// What is drawn on, by backend.
pub(super) type Area<B> = DrawingArea<B, Shift>;
/// Whether it could be.
pub(super) type Drawn<B> = Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// What can be drawn, at twice the size that it is shown in.
pub(super) trait Drawing {
    /// Its width and height as shown.
    fn size(&self) -> (u64, u64);

    /// Draws it on an area of twice that.
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Drawn<B>;
}

/// Draws into a file of pixels, or of lines if its name ends in `.svg`.
///
/// # Errors
/// If the name ends otherwise, the picture is too large, drawing fails, or the disk refuses the file.
pub(super) fn save(path: &Path, drawing: &impl Drawing) -> Result<(), PictureError> {
    let (width, height) = drawing.size();
    let (wide, high) = (width.saturating_mul(2), height.saturating_mul(2));
    let mut canvas = Canvas::new(wide, high)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => {
            drawing.draw(&canvas.backend().into_drawing_area()).map_err(draw_error)?;
            canvas.halved().write(path)
        }
        Some("svg") => {
            let mut text = String::new();
            // A canvas of that size could be made, so the numbers fit.
            let size = (wide as u32, high as u32);
            drawing
                .draw(&SVGBackend::with_string(&mut text, size).into_drawing_area())
                .map_err(draw_error)?;
            let drawn = format!("width=\"{wide}\" height=\"{high}\"");
            let shown = format!("width=\"{width}\" height=\"{height}\"");
            Ok(write_atomic(path, text.replacen(&drawn, &shown, 1).as_bytes())?)
        }
        _ => Err(PictureError::Kind(path.to_owned())),
    }
}
