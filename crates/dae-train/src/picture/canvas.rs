//! Pixels, and the way into a file.

use super::PictureError;
use crate::run_folder::write_atomic;
use plotters::backend::BitMapBackend;
use plotters::style::{FontStyle, register_font};
use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

/// The font of all text: the built-in one in pixels, and in an SVG file what the viewer calls so.
pub(super) const FONT: &str = "sans-serif";

/// The most pixels a canvas may have.
const MAX_PIXELS: u64 = 1 << 26;

/// An RGB picture, white at first.
pub(super) struct Canvas {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

impl Canvas {
    pub fn new(width: u64, height: u64) -> Result<Self, PictureError> {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        if !REGISTERED.get_or_init(|| register_font(FONT, FontStyle::Normal, font).is_ok()) {
            return Err(PictureError::Draw("the built-in font is damaged".to_owned()));
        }
        let too_large = PictureError::Size { width, height };
        let pixels = width.checked_mul(height).filter(|&n| n > 0 && n <= MAX_PIXELS);
        match (u32::try_from(width), u32::try_from(height), pixels) {
            (Ok(width), Ok(height), Some(n)) => Ok(Self { width, height, rgb: vec![255; 3 * n as usize] }),
            _ => Err(too_large),
        }
    }

    /// What plotters draws on.
    pub fn backend(&mut self) -> BitMapBackend<'_> {
        BitMapBackend::with_buffer(&mut self.rgb, (self.width, self.height))
    }

    /// Fills a square of `side` pixels with a grey in [0, 1]; what is not a number is red.
    pub fn fill(&mut self, left: usize, top: usize, side: usize, grey: f32) {
        let level = (grey.clamp(0.0, 1.0) * 255.0).round() as u8;
        let colour = if grey.is_nan() { [220, 30, 30] } else { [level; 3] };
        for y in top..top + side {
            let start = 3 * (y * self.width as usize + left);
            for pixel in self.rgb[start..start + 3 * side].as_chunks_mut().0 {
                *pixel = colour;
            }
        }
    }

    /// Half the size, each pixel the mean of four: what was drawn without smoothing comes out smooth.
    pub fn halved(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let row = 3 * self.width as usize;
        let mut rgb = Vec::with_capacity(3 * (width * height) as usize);
        for y in 0..height as usize {
            for x in 0..width as usize {
                for channel in 0..3 {
                    let at = 2 * y * row + 6 * x + channel;
                    let four = [at, at + 3, at + row, at + row + 3];
                    let sum: u32 = four.iter().map(|&i| u32::from(self.rgb[i])).sum();
                    rgb.push((sum / 4) as u8);
                }
            }
        }
        Self { width, height, rgb }
    }

    /// Writes a PNG file, as a whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), PictureError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(draw_error)?;
        writer.write_image_data(&self.rgb).map_err(draw_error)?;
        writer.finish().map_err(draw_error)?;
        Ok(write_atomic(path, &bytes)?)
    }
}

/// For `map_err`: the drawing libraries' errors have many types.
pub(super) fn draw_error(error: impl Display) -> PictureError {
    PictureError::Draw(error.to_string())
}
