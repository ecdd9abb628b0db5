//! The head of an IDX file, checked before anything is believed.
//!
//! The format is described on the MNIST page (LeCun, Cortes, Burges): two zero bytes, the type of the
//! elements, the number of dimensions, each dimension as a big-endian u32, then the elements.

use std::path::Path;

use super::DataError;

/// The most elements that are read from one file, in bytes: 4 GiB.
const MOST: u64 = 1 << 32;

/// The bytes before the dimensions.
pub const MAGIC_LEN: usize = 4;

/// What an IDX file of unsigned bytes says it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The number of samples.
    pub samples: usize,
    /// The dimensions of one sample: `[1, h, w]` or `[f]`.
    pub shape: Vec<usize>,
    /// The bytes of the header itself.
    pub len: u64,
    /// The bytes of all samples, at most 4 GiB.
    pub data_len: u64,
}

impl Header {
    /// How many bytes of dimensions follow `magic`, if it is one this reader takes.
    pub fn dims_len(path: &Path, magic: [u8; MAGIC_LEN]) -> Result<usize, DataError> {
        let path = || path.to_owned();
        match magic {
            [0, 0, 0x08, rank @ (2 | 3)] => Ok(4 * usize::from(rank)),
            [0, 0, 0x08, rank] => Err(DataError::Rank { path: path(), rank }),
            [0, 0, code @ (0x09 | 0x0B..=0x0E), _] => Err(DataError::ElementType { path: path(), code }),
            found => Err(DataError::Magic { path: path(), found }),
        }
    }

    /// Checks the dimensions that follow the magic bytes.
    pub fn parse(path: &Path, dims: &[u8]) -> Result<Self, DataError> {
        let (words, _) = dims.as_chunks::<4>();
        let dims: Vec<u32> = words.iter().map(|word| u32::from_be_bytes(*word)).collect();
        if dims.contains(&0) {
            return Err(DataError::NoSamples {
                path: path.to_owned(),
                dims,
            });
        }
        let data_len = dims
            .iter()
            .try_fold(1u64, |product, dim| product.checked_mul(u64::from(*dim)));
        let (Some(data_len @ ..=MOST), [samples, sample @ ..]) = (data_len, &dims[..]) else {
            return Err(DataError::TooLarge {
                path: path.to_owned(),
                dims,
                limit: MOST,
            });
        };
        // An image has one channel.
        let channel = (sample.len() == 2).then_some(1);
        Ok(Self {
            samples: *samples as usize,
            shape: channel
                .into_iter()
                .chain(sample.iter().map(|dim| *dim as usize))
                .collect(),
            len: (MAGIC_LEN + 4 * dims.len()) as u64,
            data_len,
        })
    }

    /// The length of the whole file, uncompressed.
    pub fn file_len(&self) -> u64 {
        self.len + self.data_len
    }
}
