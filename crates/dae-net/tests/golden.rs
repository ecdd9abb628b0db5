//! The bytes that peers of any version exchange before they know each other's: they never change.
#![allow(clippy::unwrap_used)]

use dae_net::{Hello, Purpose, header_of, read_header};

#[test]
fn a_hello_is_a_named_map() {
    let mut hello = Hello::new("anna", 256, Purpose::Node);
    hello.facts.insert("pid".to_owned(), "77".to_owned());
    hello.facts.insert("cores".to_owned(), "2".to_owned());
    let golden: &[u8] =
        b"\x84\xa4name\xa4anna\xaageneration\xcd\x01\x00\xa7purpose\xa4node\xa5facts\x82\xa5cores\xa12\xa3pid\xa277";
    assert_eq!(header_of(&hello).unwrap(), golden);
    assert_eq!(read_header::<Hello>(golden), Ok(hello));
}

#[test]
fn purposes_go_by_name() {
    let purposes = [Purpose::Node, Purpose::Host, Purpose::Client, Purpose::Bulk];
    let golden: [&[u8]; 4] = [b"\xa4node", b"\xa4host", b"\xa6client", b"\xa4bulk"];
    assert_eq!(purposes.map(|purpose| header_of(&purpose).unwrap()), golden.map(<[u8]>::to_vec));
}

#[test]
fn what_a_hello_does_not_know_is_refused() {
    let more = b"\x85\xa4name\xa1a\xaageneration\x01\xa7purpose\xa4node\xa5facts\x80\xa5extra\x01";
    let error = read_header::<Hello>(more).unwrap_err().to_string();
    assert!(error.contains("unknown field `extra`"), "{error}");
}
