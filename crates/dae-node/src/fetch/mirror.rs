//! Files from public mirrors, gzip'd.

use std::time::Duration;

use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use ureq::Agent;

use super::error::FetchError;
use super::file::DataFile;
use super::folder::Folder;

/// The mirror that torchvision reads.
pub const OSSCI: &str = "https://ossci-datasets.s3.amazonaws.com/mnist/";

/// The mirror that TensorFlow reads.
pub const CVDF: &str = "https://storage.googleapis.com/cvdf-datasets/mnist/";

const CONNECT: Duration = Duration::from_secs(3);

/// For one whole file: 10 MB over a slow line.
const OVERALL: Duration = Duration::from_secs(120);

/// No gzip'd file is larger than its raw one, give or take its frame.
const FRAME: u64 = 1 << 16;

/// Fetches each file from below `url`.
pub fn fetch(url: &str, wanted: &[DataFile], folder: &Folder, bar: &ProgressBar) -> Result<(), FetchError> {
    let config = Agent::config_builder()
        .timeout_resolve(Some(CONNECT))
        .timeout_connect(Some(CONNECT))
        .timeout_global(Some(OVERALL))
        .build();
    let agent = Agent::from(config);
    for file in wanted {
        let response = agent
            .get(format!("{url}{}.gz", file.name))
            .call()
            .map_err(|error| FetchError::Source(error.to_string()))?;
        let body = response.into_body().into_with_config().limit(file.bytes + FRAME).reader();
        let bytes = file.read(bar.wrap_read(MultiGzDecoder::new(body)))?;
        folder.place(file, &bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use super::*;
    use crate::fetch::tests::HELLO;

    /// Answers one request with `status` and the gzip'd `content`; returns what was asked for, with the
    /// outcome.
    fn once(status: &'static str, content: &'static [u8]) -> (String, Result<(), FetchError>, TempDir) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/mnist/", listener.local_addr().expect("bound"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            let request = lines.next().expect("a request").expect("text");
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let mut body = GzEncoder::new(Vec::new(), Compression::fast());
            body.write_all(content).expect("memory");
            let body = body.finish().expect("memory");
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).expect("a client that listens");
            request
        });
        let target = TempDir::new().expect("temporary folder");
        let folder = Folder::new(target.path().to_owned());
        let outcome = fetch(&url, &[HELLO], &folder, &ProgressBar::hidden());
        (server.join().expect("the server"), outcome, target)
    }

    #[test]
    fn a_file_is_fetched_unpacked_and_checked() {
        let (request, outcome, target) = once("200 OK", b"hello");
        assert!(request.starts_with("GET /mnist/hello.gz "), "{request}");
        outcome.expect("fetched");
        assert_eq!(std::fs::read(target.path().join("hello")).expect("there"), b"hello");
    }

    #[test]
    fn a_refusal_and_another_content_leave_nothing_behind() {
        for (status, content, reason) in [
            ("404 Not Found", &b"hello"[..], "404"),
            ("200 OK", b"hallo", "SHA-256"),
            ("200 OK", b"hello!", "more"),
        ] {
            let (_, outcome, target) = once(status, content);
            let error = outcome.expect_err("refused").to_string();
            assert!(error.contains(reason), "{error}");
            assert_eq!(std::fs::read_dir(target.path()).expect("a folder").count(), 0);
        }
    }
}
