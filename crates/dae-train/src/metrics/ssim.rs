//! Structural similarity.

/// The side of the window, in pixels.
const WINDOW: usize = 11;
/// The standard deviation of its weights, in pixels.
const SIGMA: f64 = 1.5;
const C1: f64 = 0.01 * 0.01;
const C2: f64 = 0.03 * 0.03;

/// The mean structural similarity of two grey images with pixels in [0, 1], rows of `width` one after the other: 1 for
/// identical ones, symmetric, down to -1.
///
/// Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity"
/// (IEEE TIP 13(4), 2004): an 11 x 11 Gaussian window of sigma 1.5, K1 = 0.01, K2 = 0.03, L = 1, over the positions
/// where the window lies inside the image. An image too small for one is a single window with equal weights.
///
/// # Panics
/// If the images are not of `width * height` pixels, or empty.
pub fn ssim(a: &[f32], b: &[f32], width: usize, height: usize) -> f64 {
    assert!(
        width > 0 && height > 0 && a.len() == width * height && b.len() == a.len(),
        "images of width x height pixels"
    );
    if width < WINDOW || height < WINDOW {
        let weight = 1.0 / a.len() as f64;
        return similarity(a.iter().zip(b).map(|(&a, &b)| (weight, a, b)));
    }
    let weights = gaussian();
    let (columns, rows) = (width - WINDOW + 1, height - WINDOW + 1);
    let mut sum = 0.0;
    for top in 0..rows {
        for left in 0..columns {
            sum += similarity((0..WINDOW * WINDOW).map(|i| {
                let (y, x) = (i / WINDOW, i % WINDOW);
                let at = (top + y) * width + left + x;
                (weights[y] * weights[x], a[at], b[at])
            }));
        }
    }
    sum / (rows * columns) as f64
}

/// The similarity of one window from weighted pixels, the weights summing to 1.
fn similarity(pixels: impl Iterator<Item = (f64, f32, f32)>) -> f64 {
    let [mut mean_a, mut mean_b, mut aa, mut bb, mut ab] = [0.0; 5];
    for (weight, a, b) in pixels {
        let (a, b) = (f64::from(a), f64::from(b));
        mean_a += weight * a;
        mean_b += weight * b;
        aa += weight * (a * a);
        bb += weight * (b * b);
        ab += weight * (a * b);
    }
    let (variance_a, variance_b) = (aa - mean_a * mean_a, bb - mean_b * mean_b);
    let covariance = ab - mean_a * mean_b;
    let luminance = (2.0 * mean_a * mean_b + C1) / (mean_a * mean_a + mean_b * mean_b + C1);
    luminance * (2.0 * covariance + C2) / (variance_a + variance_b + C2)
}

/// One dimension of the window's weights, which sum to 1.
fn gaussian() -> [f64; WINDOW] {
    let centre = (WINDOW / 2) as f64;
    let weights: [f64; WINDOW] =
        std::array::from_fn(|i| libm::exp(-(i as f64 - centre).powi(2) / (2.0 * SIGMA * SIGMA)));
    let sum: f64 = weights.iter().sum();
    weights.map(|w| w / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texture(seed: f32, width: usize, height: usize) -> Vec<f32> {
        (0..width * height).map(|i| 0.5 + 0.5 * (i as f32 * seed).sin()).collect()
    }

    #[test]
    fn identical_images_score_one_and_order_does_not_matter() {
        for (w, h) in [(28, 28), (11, 11), (13, 40), (8, 8), (1, 1), (10, 30)] {
            let (a, b) = (texture(1.7, w, h), texture(0.9, w, h));
            assert!((ssim(&a, &a, w, h) - 1.0).abs() < 1e-9, "{w}x{h}");
            assert_eq!(ssim(&a, &b, w, h), ssim(&b, &a, w, h));
            assert!(ssim(&a, &b, w, h) < 1.0 + 1e-12);
        }
    }

    #[test]
    fn constant_images_differ_by_luminance_alone() {
        let (a, b) = (vec![0.25f32; 28 * 28], vec![0.75f32; 28 * 28]);
        let expected = (2.0 * 0.25 * 0.75 + C1) / (0.0625 + 0.5625 + C1);
        assert!((ssim(&a, &b, 28, 28) - expected).abs() < 1e-9);
    }

    #[test]
    fn an_inverted_image_scores_below_zero_and_noise_lowers_the_score() {
        let a = texture(1.7, 28, 28);
        let inverted: Vec<f32> = a.iter().map(|x| 1.0 - x).collect();
        assert!(ssim(&a, &inverted, 28, 28) < -0.9);
        let noisy = |level: f32| -> Vec<f32> {
            a.iter().zip(texture(37.3, 28, 28)).map(|(x, n)| x + level * (n - 0.5)).collect()
        };
        let (little, much) = (ssim(&a, &noisy(0.1), 28, 28), ssim(&a, &noisy(0.5), 28, 28));
        assert!(1.0 > little && little > much && much > 0.0, "{little} {much}");
    }
}
