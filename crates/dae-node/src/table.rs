//! Tables for people, JSON for programs.

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Failure;
use dae_train::exit::Exit;

/// The version of all JSON that is printed about a cluster. Fields may be added under one version; none changes its
/// meaning or goes.
const VERSION: u32 = 1;

/// Rows under headings, in as many columns as the widest needs.
pub fn table<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Vec<u8> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines = table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n");
    lines.into_bytes()
}

/// The value as JSON, with the version beside its fields.
pub fn versioned(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let mut all = json!({ "version": VERSION });
    match (serde_json::to_value(value), all.as_object_mut()) {
        (Ok(Value::Object(fields)), Some(all)) => all.extend(fields),
        (Ok(_), _) => {}
        (Err(error), _) => {
            return Err(Failure::new(Exit::Failed, miette::miette!("cannot be written as JSON: {error}")));
        }
    }
    Ok(format!("{all:#}\n").into_bytes())
}

/// A number of bytes as people read it.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A time gone by, in its largest unit.
pub fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let text = table(["NAME", "X"], [["a".into(), "1".into()], ["long-name".into(), String::new()]]);
        let text = String::from_utf8(text).expect("text");
        assert_eq!(text, "NAME       X\na          1\nlong-name\n");
    }

    #[test]
    fn json_carries_the_version() {
        #[derive(Serialize)]
        struct Row {
            name: &'static str,
        }
        let json = versioned(&Row { name: "n1" }).expect("written");
        let value: Value = serde_json::from_slice(&json).expect("read");
        assert_eq!(value, json!({ "version": 1, "name": "n1" }));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (bytes(17), bytes(1536), bytes(u64::MAX)),
            ("17 B".into(), "1.5 KiB".into(), "16777216.0 TiB".into())
        );
        assert_eq!(
            (ago(59), ago(60), ago(7200), ago(200_000)),
            ("59 s".into(), "1 min".into(), "2 h".into(), "2 d".into())
        );
    }
}
