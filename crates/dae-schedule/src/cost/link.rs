//! [`Link`]: what a kind of link can do, in three numbers.

use super::refused::{Refused, within};

/// What links of one kind can do: the model of Hockney (1994), and a term for messages sent side by side.
///
/// They are what the collectives measure of the links between nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// How long a message takes that holds next to nothing, in seconds, 0 to 1e4.
    pub latency_s: f64,
    /// Bytes that one machine sends in a second while it receives as many, 1 to 1e18.
    pub bytes_per_s: f64,
    /// How much longer it takes if one more goes to another machine at the same time, in seconds, 0 to 1e4.
    pub message_s: f64,
}

/// Names for links people have. The bandwidth is that on the label less what frames and sealing take, the latency that
/// of a small message between two processes over TCP.
const PRESETS: [(&str, Link); 5] = [
    ("loopback", Link { latency_s: 20e-6, bytes_per_s: 2.5e9, message_s: 5e-6 }),
    ("1gbe", Link { latency_s: 100e-6, bytes_per_s: 0.117e9, message_s: 5e-6 }),
    ("10gbe", Link { latency_s: 50e-6, bytes_per_s: 1.17e9, message_s: 5e-6 }),
    ("25gbe", Link { latency_s: 30e-6, bytes_per_s: 2.9e9, message_s: 5e-6 }),
    ("100gbe", Link { latency_s: 20e-6, bytes_per_s: 11.6e9, message_s: 5e-6 }),
];

impl Link {
    /// Of this latency in seconds and these bytes a second; a further message costs a tenth of the latency.
    pub fn new(latency_s: f64, bytes_per_s: f64) -> Self {
        Self { latency_s, bytes_per_s, message_s: latency_s / 10.0 }
    }

    /// Reads a name (`10gbe`, `1gbe`, `25gbe`, `100gbe`, `loopback`), or latency and bandwidth: `50us,1.2GB/s`,
    /// `0.00005,1.2e9`, `1ms,10Gbit/s`. A third part says what a further message costs: `50us,1.2GB/s,5us`.
    ///
    /// # Errors
    /// A sentence that says what can be written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = |name: &str| text.eq_ignore_ascii_case(name);
        if let Some((_, link)) = PRESETS.iter().find(|(name, _)| known(name)) {
            return Ok(*link);
        }
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let read = match parts[..] {
            [latency, rate] => seconds(latency).zip(bytes_per_s(rate)).map(|(l, b)| Self::new(l, b)),
            [latency, rate, message] => {
                let both = seconds(latency).zip(bytes_per_s(rate));
                both.zip(seconds(message)).map(|((latency_s, bytes_per_s), message_s)| Self {
                    latency_s,
                    bytes_per_s,
                    message_s,
                })
            }
            _ => None,
        };
        let link = read.ok_or_else(|| {
            let names = PRESETS.map(|(name, _)| name).join(", ");
            format!("write one of {names}, or latency and bandwidth such as 50us,1.2GB/s")
        })?;
        let mut refused = Vec::new();
        link.check("link", &mut refused);
        match refused.first() {
            Some(refused) => Err(refused.to_string()),
            None => Ok(link),
        }
    }

    /// How long a message of so many bytes takes alone, in seconds.
    pub fn message(&self, bytes: f64) -> f64 {
        self.latency_s + bytes / self.bytes_per_s
    }

    /// Refuses what no link has.
    pub(crate) fn check(&self, what: &'static str, refused: &mut Vec<Refused>) {
        within(what, self.latency_s, (0.0, 1e4), refused);
        within(what, self.bytes_per_s, (1.0, 1e18), refused);
        within(what, self.message_s, (0.0, 1e4), refused);
    }
}

/// Reads `50us`, `1ms`, `2s`, `0.001`.
fn seconds(text: &str) -> Option<f64> {
    scaled(text, &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("", 1.0)])
}

/// Reads `1.2GB/s`, `10Gbit/s`, `1e9`.
fn bytes_per_s(text: &str) -> Option<f64> {
    const BITS: [(&str, f64); 3] = [("Gbit", 1e9 / 8.0), ("Mbit", 1e6 / 8.0), ("kbit", 1e3 / 8.0)];
    const BYTES: [(&str, f64); 5] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0), ("", 1.0)];
    let text = text.strip_suffix("/s").unwrap_or(text);
    scaled(text, &[&BITS[..], &BYTES[..]].concat())
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let read = |(unit, scale): &(&str, f64)| {
        text.strip_suffix(unit)?.trim_end().parse::<f64>().ok().map(|number| number * scale)
    };
    units.iter().find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read() {
        assert_eq!(Link::parse("10GbE").unwrap().bytes_per_s, 1.17e9);
        let near = |text: &str, latency: f64, rate: f64| {
            let link = Link::parse(text).unwrap();
            assert!(
                (link.latency_s - latency).abs() < 1e-12 && (link.bytes_per_s - rate).abs() < 1.0,
                "{text}"
            );
        };
        near("50us,1.2GB/s", 50e-6, 1.2e9);
        near("0.00005, 1.2e9", 50e-6, 1.2e9);
        near("1ms,10Gbit/s", 1e-3, 1.25e9);
        assert_eq!(Link::parse("50us,1GB/s,7us").unwrap().message_s, 7.0 * 1e-6);
    }

    #[test]
    fn nonsense_is_told() {
        for text in ["", "fast", "1", "nan,1", "1,nan", "-1,5", "1,0", "1,inf", "1,2,3,4", "1us,1GB/h"] {
            assert!(Link::parse(text).is_err(), "{text}");
        }
        assert!(Link::parse("ethernet").unwrap_err().contains("10gbe"));
    }
}
