//! Bytes, seconds and counts as people read them, with three digits.

/// Bytes in powers of 1,000: `22.4 MB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)])
}

/// Seconds: `1.50 ms`, `12.0 us`, `2.00 h`.
pub fn seconds(seconds: f64) -> String {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
    scaled(seconds, &UNITS)
}

/// A number of things, which may be a fraction of one: `14.0 k`.
pub fn count(many: f64) -> String {
    if many < 1000.0 && many.fract() == 0.0 {
        return format!("{many}");
    }
    scaled(many, &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)])
}

fn scaled(number: f64, units: &[(&str, f64)]) -> String {
    if number == 0.0 {
        return units.iter().find(|(_, size)| *size == 1.0).map_or("0".into(), |(unit, _)| joined("0", unit));
    }
    let fits = units.iter().rev().find(|(_, size)| number.abs() >= *size * 0.9995).or(units.first());
    let Some((unit, size)) = fits else { return number.to_string() };
    let value = number / size;
    joined(&three(value), unit)
}

fn joined(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// With three digits, or more where the number is larger.
fn three(value: f64) -> String {
    match value.abs() {
        size if !(1e-3..1e6).contains(&size) => format!("{value:.2e}"),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit() {
        assert_eq!(
            (bytes(0.0), bytes(22_377_600.0), bytes(999.9)),
            ("0 B".into(), "22.4 MB".into(), "1.00 kB".into())
        );
        assert_eq!(
            (seconds(0.0), seconds(0.0015), seconds(7200.0)),
            ("0 s".into(), "1.50 ms".into(), "2.00 h".into())
        );
        assert_eq!((seconds(1.2e-5), seconds(1e-13)), ("12.0 us".into(), "1.00e-4 ns".into()));
        assert_eq!(
            (count(14.0), count(13_986.0), count(0.5)),
            ("14".into(), "14.0 k".into(), "0.500".into())
        );
        assert_eq!(bytes(1e300), "1.00e285 PB");
    }
}
