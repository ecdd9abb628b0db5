//! The golden bytes of every message are MessagePack as another implementation reads it: Python's `msgpack`.
//!
//! They lie in `crates/*/tests/golden/*.txt`, one line each: a name, the frame's kind, and the header in hexadecimal.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Reads lines of a name, a kind and hexadecimal bytes; writes what it found as JSON, and whether the same bytes come of it again.
const READER: &str = r#"
import json, msgpack, sys
for line in sys.stdin:
    name, kind, packed = line.split()
    packed = bytes.fromhex(packed)
    value = msgpack.unpackb(packed, strict_map_key=False)
    again = msgpack.packb(value) == packed
    print(json.dumps([name, int(kind), value, again], default=lambda b: list(b)))
"#;

/// A Python that has `msgpack`, put into a virtual environment of this test if need be; or why there is none.
fn python() -> Result<PathBuf, String> {
    let has_it = |python: &Path| {
        let mut command = Command::new(python);
        command.args(["-c", "import msgpack"]).stdin(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden-venv");
    let own = venv.join("bin/python");
    if let Some(python) = [Path::new("python3"), &own].into_iter().find(|python| has_it(python)) {
        return Ok(python.to_owned());
    }
    let run = |program: &Path, arguments: &[&str]| {
        let output = Command::new("timeout").arg("120").arg(program).args(arguments).output();
        let output = output.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    };
    run(Path::new("python3"), &["-m", "venv", venv.to_str().unwrap()])?;
    run(&own, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "msgpack"])?;
    Ok(own)
}

/// The lines of all golden files, each with its file.
fn golden() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("tests/golden"));
    let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten().map(|e| e.unwrap().path());
    let texts = files.filter(|file| file.extension().is_some_and(|e| e == "txt"));
    let lines = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        text.lines().map(|line| (file.clone(), line.to_owned())).collect::<Vec<_>>()
    };
    texts.flat_map(lines).collect()
}

#[test]
fn python_reads_every_golden_message() {
    use std::io::Write;
    let golden = golden();
    assert!(golden.len() > 10, "there are no golden messages any more: {golden:?}");
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            return eprintln!("not tested: there is no Python with msgpack, and none can be made: {why}");
        }
    };
    let mut reader = Command::new(python);
    reader.args(["-c", READER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = reader.spawn().unwrap();
    let lines: String = golden.iter().map(|(_, line)| format!("{line}\n")).collect();
    let mut input = reader.stdin.take().unwrap();
    // On a thread of its own: either side may have a full pipe.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = reader.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let output = String::from_utf8(output.stdout).unwrap();
    let read: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read.len(), golden.len());
    for (value, (file, line)) in read.iter().zip(&golden) {
        // Maps with names and enums tagged from outside: nothing is told by its place alone.
        let named = value[2].is_object() || value[2].is_string();
        assert!(named, "{}: {line}\nreads {value}", file.display());
        assert_eq!(value[3], true, "{}: {line}\nPython would write other bytes for {value}", file.display());
    }
}
