//! Metrics that compare pixel by pixel.

/// The mean squared error of two images of one size; 0 for empty ones.
///
/// # Panics
/// If the sizes differ.
pub fn mse(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "images of one size");
    let sum: f64 = a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    sum / a.len().max(1) as f64
}

/// The peak signal-to-noise ratio in dB for a peak of 1: `10 log10(1 / mse)`; infinite for identical images.
pub fn psnr(mse: f64) -> f64 {
    -10.0 * mse.log10()
}

/// The mean binary cross-entropy of predictions in [0, 1] against targets in [0, 1], in nats. Logarithms are held at
/// -100 or above, as `torch.nn.BCELoss` does, so the result is finite.
///
/// # Panics
/// If the lengths differ.
pub fn bce(prediction: &[f32], target: &[f32]) -> f64 {
    assert_eq!(prediction.len(), target.len(), "one target for each prediction");
    let sum: f64 = prediction
        .iter()
        .zip(target)
        .map(|(&p, &t)| (f64::from(p), f64::from(t)))
        .map(|(p, t)| -(t * p.ln().max(-100.0) + (1.0 - t) * (1.0 - p).ln().max(-100.0)))
        .sum();
    sum / prediction.len().max(1) as f64
}

/// The quality of a set of images: means of each image's own value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// The mean of the images' mean squared errors.
    pub mse: f64,
    /// The mean of the images' PSNR in dB; infinite if one image is perfect.
    pub psnr: f64,
}

/// Compares two sets of images that lie one after the other, `pixels` elements each. Every image counts the same, and
/// the PSNR is averaged over images, as the denoising literature reports it; that of the mean error would be lower.
/// Both are NaN for an empty set.
///
/// # Panics
/// If the sets differ in size, or are no whole number of images.
pub fn mean_quality(images: &[f32], clean: &[f32], pixels: usize) -> Quality {
    assert_eq!(images.len(), clean.len(), "sets of one size");
    assert!(pixels > 0 && images.len().is_multiple_of(pixels), "a whole number of images");
    let (mut mse_sum, mut psnr_sum) = (0.0, 0.0);
    for (a, b) in images.chunks_exact(pixels).zip(clean.chunks_exact(pixels)) {
        let error = mse(a, b);
        mse_sum += error;
        psnr_sum += psnr(error);
    }
    let count = (images.len() / pixels) as f64;
    Quality { mse: mse_sum / count, psnr: psnr_sum / count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_of_known_errors() {
        assert_eq!(psnr(1.0), 0.0);
        assert!((psnr(0.01) - 20.0).abs() < 1e-12);
        assert_eq!(psnr(0.0), f64::INFINITY);
    }

    #[test]
    fn psnr_is_averaged_over_images() {
        // Errors of 0.1 and 1: 20 dB and 0 dB.
        let quality = mean_quality(&[0.1, 0.1, 1.0, 1.0], &[0.0; 4], 2);
        assert!((quality.mse - 0.505).abs() < 1e-6, "{quality:?}");
        assert!((quality.psnr - 10.0).abs() < 1e-6, "{quality:?}");
    }

    #[test]
    fn bce_of_known_predictions() {
        assert!((bce(&[0.5, 0.5], &[0.0, 1.0]) - 2f64.ln()).abs() < 1e-12);
        assert_eq!(bce(&[1.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(bce(&[1.0, 0.0], &[0.0, 1.0]), 100.0);
    }
}
