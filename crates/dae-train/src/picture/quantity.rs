//! What progress is measured in.

/// What progress is measured in: the axis a learning curve runs along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Committed steps; with a join, updates of its centre.
    Steps,
    /// Samples consumed.
    Samples,
    /// Seconds of training.
    Seconds,
    /// Bytes sent.
    Bytes,
}

impl Quantity {
    /// How the axis is named when it ends at `most`, and how many of the quantity are one on it: so that numbers on
    /// it have few digits.
    pub(super) fn axis(self, most: f64) -> (&'static str, f64) {
        let units: &[(&str, f64)] = match self {
            Self::Steps => &[("step", 1.0), ("step, in thousands", 1e3), ("step, in millions", 1e6)],
            Self::Samples => {
                &[("samples", 1.0), ("samples, in thousands", 1e3), ("samples, in millions", 1e6)]
            }
            Self::Seconds => {
                &[("time, in seconds", 1.0), ("time, in minutes", 60.0), ("time, in hours", 3600.0)]
            }
            Self::Bytes => &[
                ("sent, in bytes", 1.0),
                ("sent, in kB", 1e3),
                ("sent, in MB", 1e6),
                ("sent, in GB", 1e9),
                ("sent, in TB", 1e12),
            ],
        };
        // Five digits of a small unit read better than two of a large one.
        let room = if self == Self::Steps { 50.0 } else { 5.0 };
        units.iter().rev().find(|unit| most >= room * unit.1).copied().unwrap_or(units[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_size() {
        let named = |quantity: Quantity, most| quantity.axis(most).0;
        assert_eq!(named(Quantity::Steps, 2000.0), "step");
        assert_eq!(named(Quantity::Steps, 60_000.0), "step, in thousands");
        assert_eq!(named(Quantity::Samples, 512_000.0), "samples, in thousands");
        assert_eq!(named(Quantity::Samples, 8e6), "samples, in millions");
        assert_eq!(named(Quantity::Seconds, 299.0), "time, in seconds");
        assert_eq!(named(Quantity::Seconds, 300.0), "time, in minutes");
        assert_eq!(named(Quantity::Bytes, 0.0), "sent, in bytes");
        assert_eq!(Quantity::Bytes.axis(7e9), ("sent, in GB", 1e9));
        assert_eq!(named(Quantity::Steps, f64::NAN), "step");
    }
}
