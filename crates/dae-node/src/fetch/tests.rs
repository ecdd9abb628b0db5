//! Fetching from sources made up for the test: no network.

use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

pub const HELLO: DataFile = DataFile {
    name: "hello",
    bytes: 5,
    sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
};
const EMPTY: DataFile = DataFile {
    name: "empty",
    bytes: 0,
    sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
};

const DOWN: Source = ("down", |_, _, _| Err(FetchError::Source("no route".into())));
const LYING: Source = ("lying", |_, folder, _| folder.place(&HELLO, &HELLO.read(&b"hallo"[..])?));
const HALF: Source = ("half", |_, folder, _| folder.place(&EMPTY, b""));
const GOOD: Source = ("good", |wanted, folder, _| {
    assert!(wanted.contains(&HELLO));
    folder.place(&HELLO, &HELLO.read(&b"hello"[..])?)
});

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn into(folder: &TempDir, sources: &[Source]) -> Result<String, FetchError> {
    fetch(Folder::new(folder.path().to_owned()), &[HELLO, EMPTY], sources)
}

#[test]
fn sources_are_tried_in_order_and_complete_each_other() {
    let folder = TempDir::new().expect("temporary folder");
    let said = into(&folder, &[DOWN, LYING, HALF, GOOD]).expect("fetched");
    assert!(said.contains("from half and good"), "{said}");
    assert_eq!(names(&folder), ["empty", "hello"]);
    assert!(into(&folder, &[]).expect("nothing to do").starts_with("already there"));
}

#[test]
fn a_failure_names_every_source_its_reason_and_the_way_out() {
    let folder = TempDir::new().expect("temporary folder");
    let error = into(&folder, &[DOWN, LYING, HALF]).expect_err("hello is nowhere");
    let said = format!("{:?}", miette::Report::new(error));
    for part in ["down: no route", "lying: hello: its SHA-256 is another", "half: it does not have", "copy"] {
        assert!(said.contains(part), "{said} should say {part}");
    }
    assert_eq!(names(&folder), ["empty"]);
}

#[test]
fn a_damaged_file_is_replaced_and_a_good_gzipped_one_accepted() {
    let folder = TempDir::new().expect("temporary folder");
    fs::write(folder.path().join("hello"), "hallo").expect("write");
    fs::write(folder.path().join("empty"), "").expect("write");
    into(&folder, &[GOOD]).expect("replaced");
    assert_eq!(fs::read(folder.path().join("hello")).expect("there"), b"hello");

    fs::remove_file(folder.path().join("hello")).expect("remove");
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(b"hello").expect("memory");
    fs::write(folder.path().join("hello.gz"), zipped.finish().expect("memory")).expect("write");
    assert!(into(&folder, &[]).expect("recognised").starts_with("already there"));
}

#[test]
fn a_folder_in_the_way_is_an_error_that_names_it() {
    let folder = TempDir::new().expect("temporary folder");
    fs::create_dir(folder.path().join("hello")).expect("create");
    let error = into(&folder, &[GOOD]).expect_err("it cannot be replaced");
    assert!(matches!(&error, FetchError::Write { path, .. } if path.ends_with("hello")), "{error}");
}

#[test]
fn a_source_that_never_ends_is_cut_off() {
    let error = HELLO.read(std::io::repeat(b'h')).expect_err("too much");
    assert!(error.to_string().contains("more than its 5 bytes"), "{error}");
}
