//! The safetensors files: between flat buffers and named tensors.

use super::CheckpointError;
use super::manifest::Seal;
use crate::layout::Layout;
use crate::run_folder::DiskError;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Elements converted to bytes at a time.
const CHUNK: usize = 16 * 1024;

/// A flat buffer and what its tensors' names begin with.
pub(super) type Prefixed<'a> = (String, &'a [f32]);

/// Writes the tensors of flat buffers as one safetensors file, synced, without copying the buffers.
///
/// The format is a header length (u64, little-endian), a JSON header padded with spaces to 8 bytes, and the tensors'
/// bytes: <https://github.com/huggingface/safetensors#format>. Alone, the library would need the whole file in memory
/// to be hashed.
pub(super) fn write(path: &Path, layout: &Layout, buffers: &[Prefixed]) -> Result<Seal, CheckpointError> {
    let mut at = 0;
    let mut infos = Vec::new();
    for (prefix, _) in buffers {
        for t in layout.tensors() {
            let end = at + t.numel() * size_of::<f32>();
            let info = TensorInfo { dtype: Dtype::F32, shape: t.shape.clone(), data_offsets: (at, end) };
            infos.push((format!("{prefix}{}", t.name), info));
            at = end;
        }
    }
    // The marker that Python's transformers looks for.
    let marker = [("format".to_owned(), "pt".to_owned())].into();
    let header = Metadata::new(Some(marker), infos)
        .map_err(|e| e.to_string())
        .and_then(|metadata| serde_json::to_string(&metadata).map_err(|e| e.to_string()))
        .map_err(|cause| CheckpointError::Tensors { path: path.to_owned(), cause })?;
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));

    let body = || -> io::Result<Seal> {
        let mut out = Sealing { file: File::create(path)?, hash: Sha256::new(), bytes: 0 };
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header.as_bytes())?;
        for (_, flat) in buffers {
            for t in layout.tensors() {
                out.write_floats(&flat[t.range()])?;
            }
        }
        out.file.sync_all()?;
        Ok(Seal { bytes: out.bytes, sha256: hex(out.hash) })
    };
    Ok(body().map_err(DiskError::when("write", path))?)
}

/// Reads the buffers back, each of `layout.len()` elements, the padding zero; one for each prefix.
///
/// The file's length and hash are compared with the seal, and every name, shape and type with the layout, before
/// anything the size of a buffer is allocated. `layout` must have been checked.
pub(super) fn read(
    path: &Path,
    seal: &Seal,
    layout: &Layout,
    prefixes: &[String],
) -> Result<Vec<Vec<f32>>, CheckpointError> {
    let bytes = read_sealed(path, seal)?;
    let wrong = |cause: String| CheckpointError::Tensors { path: path.to_owned(), cause };
    let file = SafeTensors::deserialize(&bytes).map_err(|e| wrong(e.to_string()))?;
    let expected = layout.tensors().len().checked_mul(prefixes.len());
    if expected != Some(file.len()) {
        return Err(wrong(format!("it holds {} tensors", file.len())));
    }
    let mut views = Vec::with_capacity(file.len());
    for prefix in prefixes {
        for t in layout.tensors() {
            let name = format!("{prefix}{}", t.name);
            let view = file.tensor(&name).map_err(|e| wrong(e.to_string()))?;
            if view.dtype() != Dtype::F32 || view.shape() != t.shape {
                let (dtype, shape) = (view.dtype(), view.shape());
                return Err(wrong(format!("{name} is {dtype} {shape:?} instead of F32 {:?}", t.shape)));
            }
            views.push((t.range(), view.data()));
        }
    }
    // Every tensor of every buffer was found with its size, so the buffers are about as large as the file.
    let mut buffers = vec![vec![0.0f32; layout.len()]; prefixes.len()];
    let mut views = views.into_iter();
    for buffer in &mut buffers {
        for (range, data) in views.by_ref().take(layout.tensors().len()) {
            for (x, bytes) in buffer[range].iter_mut().zip(data.as_chunks().0) {
                *x = f32::from_le_bytes(*bytes);
            }
        }
    }
    Ok(buffers)
}

fn read_sealed(path: &Path, seal: &Seal) -> Result<Vec<u8>, CheckpointError> {
    let file = File::open(path).map_err(DiskError::when("read", path))?;
    let found = file.metadata().map_err(DiskError::when("read", path))?.len();
    if found != seal.bytes {
        return Err(CheckpointError::Length { path: path.to_owned(), expected: seal.bytes, found });
    }
    let mut bytes = Vec::new();
    file.take(found).read_to_end(&mut bytes).map_err(DiskError::when("read", path))?;
    if hex(Sha256::new_with_prefix(&bytes)) != seal.sha256 {
        return Err(CheckpointError::Hash { path: path.to_owned() });
    }
    Ok(bytes)
}

pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// A file whose bytes are counted and hashed on their way.
struct Sealing {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Sealing {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn write_floats(&mut self, floats: &[f32]) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(CHUNK * size_of::<f32>());
        for chunk in floats.chunks(CHUNK) {
            buffer.clear();
            buffer.extend(chunk.iter().flat_map(|x| x.to_le_bytes()));
            self.write_all(&buffer)?;
        }
        Ok(())
    }
}
