//! The reader of IDX files, raw or gzip'd.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::header::{Header, MAGIC_LEN};
use super::{DataError, Dataset, simd};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The samples of one IDX file of unsigned bytes, held as bytes and read as `byte / 255`.
#[derive(Debug, Clone)]
pub struct IdxImages {
    name: String,
    samples: usize,
    shape: Vec<usize>,
    features: usize,
    bytes: Vec<u8>,
}

impl IdxImages {
    /// Reads `path`, or `path` with `.gz` appended if only that exists. Compression is recognised by content.
    ///
    /// Three dimensions `[n, h, w]` make `n` samples of shape `[1, h, w]`; two make `n` samples of shape
    /// `[f]`.
    ///
    /// # Errors
    /// Whatever is wrong with the file, as a [`DataError`] that names it. Nothing is allocated on the word of
    /// the header alone: a raw file has to be as long as it says, and a gzip'd one is decoded as it comes.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let mut source = Source::open(path)?;
        let header = source.header()?;
        let bytes = source.data(&header)?;
        Ok(Self {
            name: source
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            samples: header.samples,
            features: header.shape.iter().product(),
            shape: header.shape,
            bytes,
        })
    }

    /// The number of samples in a file and the shape of one, without reading its data.
    ///
    /// # Errors
    /// As [`IdxImages::open`], except for damage that lies behind the header of a gzip'd file.
    pub fn header(path: &Path) -> Result<(usize, Vec<usize>), DataError> {
        let header = Source::open(path)?.header()?;
        Ok((header.samples, header.shape))
    }

    /// The first `n` samples, or all if there are not that many.
    pub fn limited(mut self, n: usize) -> Self {
        self.samples = self.samples.min(n);
        self.bytes.truncate(self.samples * self.features);
        self
    }
}

impl Dataset for IdxImages {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.samples
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn features(&self) -> usize {
        self.features
    }

    fn read(&self, id: usize, out: &mut [f32]) {
        assert!(id < self.samples, "sample {id} of {} was asked for", self.samples);
        assert_eq!(out.len(), self.features, "a sample fills its buffer");
        let bytes = &self.bytes[id * self.features..][..self.features];
        simd::arch().dispatch(Scale { bytes, out });
    }
}

/// Bytes to `[0, 1]`: divided, not multiplied by a reciprocal, so that the values are those of other
/// libraries.
struct Scale<'a> {
    bytes: &'a [u8],
    out: &'a mut [f32],
}

impl pulp::NullaryFnOnce for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (out, byte) in self.out.iter_mut().zip(self.bytes) {
            *out = f32::from(*byte) / 255.0;
        }
    }
}

/// An open file, decompressed on the way if need be.
struct Source {
    path: PathBuf,
    reader: Box<dyn Read>,
    /// The length of the file; `None` if it is compressed and its content may be of any length.
    len: Option<u64>,
}

impl Source {
    fn open(asked: &Path) -> Result<Self, DataError> {
        let (path, file) = open_either(asked)?;
        let read_error = |source| DataError::Read {
            path: path.clone(),
            source,
        };
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() {
            return Err(DataError::NotAFile { path });
        }
        let mut file = BufReader::new(file);
        let mut start = Vec::new();
        file.by_ref()
            .take(2)
            .read_to_end(&mut start)
            .map_err(read_error)?;
        if start.is_empty() {
            return Err(DataError::Empty { path });
        }
        let gzipped = start == GZIP_MAGIC;
        let whole = io::Cursor::new(start).chain(file);
        Ok(if gzipped {
            Self {
                path,
                reader: Box::new(BufReader::new(MultiGzDecoder::new(whole))),
                len: None,
            }
        } else {
            Self {
                path,
                reader: Box::new(whole),
                len: Some(metadata.len()),
            }
        })
    }

    fn header(&mut self) -> Result<Header, DataError> {
        let mut magic = [0; MAGIC_LEN];
        self.exactly(&mut magic, 0)?;
        let mut dims = vec![0; Header::dims_len(&self.path, magic)?];
        self.exactly(&mut dims, MAGIC_LEN)?;
        let header = Header::parse(&self.path, &dims)?;
        let expected = header.file_len();
        match self.len {
            Some(found) if found < expected => Err(self.truncated(expected, found)),
            Some(found) if found > expected => Err(DataError::Trailing {
                path: self.path.clone(),
                expected,
            }),
            _ => Ok(header),
        }
    }

    fn data(&mut self, header: &Header) -> Result<Vec<u8>, DataError> {
        let mut bytes = Vec::new();
        if self.len.is_some() {
            bytes.reserve_exact(header.data_len as usize); // as long as the file: checked with the header
        }
        // One byte more than there should be, to see whether there is one; it is also what makes a gzip
        // decoder check its sum.
        self.fill(&mut bytes, header.data_len)?;
        let mut rest = Vec::new();
        self.fill(&mut rest, 1)?;
        if (bytes.len() as u64) < header.data_len {
            return Err(self.truncated(header.file_len(), header.len + bytes.len() as u64));
        }
        if !rest.is_empty() {
            return Err(DataError::Trailing {
                path: self.path.clone(),
                expected: header.file_len(),
            });
        }
        Ok(bytes)
    }

    /// Fills `buffer`, which starts `at` bytes into the file.
    fn exactly(&mut self, buffer: &mut [u8], at: usize) -> Result<(), DataError> {
        let mut bytes = Vec::new();
        self.fill(&mut bytes, buffer.len() as u64)?;
        if bytes.len() < buffer.len() {
            return Err(self.truncated((at + buffer.len()) as u64, (at + bytes.len()) as u64));
        }
        buffer.copy_from_slice(&bytes);
        Ok(())
    }

    /// Appends up to `most` bytes.
    fn fill(&mut self, bytes: &mut Vec<u8>, most: u64) -> Result<(), DataError> {
        let gzipped = self.len.is_none();
        match self.reader.by_ref().take(most).read_to_end(bytes) {
            Ok(_) => Ok(()),
            Err(source) if gzipped => Err(DataError::Gzip {
                path: self.path.clone(),
                source,
            }),
            Err(source) => Err(DataError::Read {
                path: self.path.clone(),
                source,
            }),
        }
    }

    fn truncated(&self, expected: u64, found: u64) -> DataError {
        DataError::Truncated {
            path: self.path.clone(),
            expected,
            found,
        }
    }
}

fn open_either(asked: &Path) -> Result<(PathBuf, File), DataError> {
    let mut zipped = OsString::from(asked);
    zipped.push(".gz");
    for path in [asked.to_owned(), PathBuf::from(zipped)] {
        // A pipe would block for ever in `open`, so its kind is looked at first.
        match std::fs::metadata(&path) {
            Ok(found) if !found.is_file() => return Err(DataError::NotAFile { path }),
            Ok(_) => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound) => continue,
            Err(source) => return Err(DataError::Read { path, source }),
        }
        return match File::open(&path) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(DataError::Read { path, source }),
        };
    }
    Err(DataError::Missing {
        path: asked.to_owned(),
        remedy: "check the path",
    })
}

#[cfg(test)]
mod tests;
