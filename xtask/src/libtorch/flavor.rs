//! The two builds of PyTorch's wheels: what is pinned, and which files of them are wanted.
use std::path::{Path, PathBuf};

use super::cuda::CUDA;

/// The one version of PyTorch that `tch` 0.24 is written for.
pub const TORCH_VERSION: &str = "2.11.0";

/// A wheel that is known to the last byte.
#[derive(Debug)]
pub struct Pin {
    /// What pip is asked for.
    pub requirement: &'static str,
    /// What pip must bring.
    pub file: &'static str,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// Its length.
    pub bytes: u64,
}

/// PyTorch itself, for x86_64 Linux.
pub const TORCH: Pin = Pin {
    requirement: "torch==2.11.0",
    file: "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    sha256: "7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a",
    bytes: 530_604_548,
};

// libtorch_cpu.so of the CUDA build names these two among its libraries, used or not.
/// NVIDIA's profiling interface.
pub const CUPTI: Pin = Pin {
    requirement: "nvidia-cuda-cupti==13.0.85",
    file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
    sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
    bytes: 10_715_597,
};
/// NVIDIA's run-time library.
pub const CUDART: Pin = Pin {
    requirement: "nvidia-cuda-runtime==13.0.96",
    file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
    sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
    bytes: 2_243_632,
};

/// Which libtorch is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The CPU part of the wheel, about 0.5 GB on disk.
    Cpu,
    /// All of it with NVIDIA's libraries, several GB.
    Cuda,
}

impl Flavor {
    /// What goes into the file `build-version`, in libtorch's own way of writing.
    pub fn build_version(self) -> String {
        format!("{TORCH_VERSION}+{}", if self == Self::Cpu { "cpu" } else { "cu130" })
    }

    /// The wheels it is unpacked from.
    pub fn pins(self) -> &'static [Pin] {
        const CPU: [Pin; 3] = [TORCH, CUPTI, CUDART];
        if self == Self::Cpu { &CPU } else { &CUDA }
    }

    /// Room for the wheels, pip's copy of them while it works, and what is unpacked.
    pub fn bytes_needed(self) -> u64 {
        if self == Self::Cpu { 3_000_000_000 } else { 14_000_000_000 }
    }

    /// Where a wheel's entry goes in the libtorch folder, if it is wanted at all.
    pub fn place(self, entry: &Path) -> Option<PathBuf> {
        let name = entry.file_name()?.to_str()?;
        if let Ok(header) = entry.strip_prefix("torch/include") {
            return Some(Path::new("include").join(header));
        }
        let folder = entry.parent()?;
        let wanted = match self {
            Self::Cpu if folder == Path::new("torch/lib") => {
                ["libtorch_cpu.so", "libc10.so", "libgomp.so.1"].contains(&name)
            }
            Self::Cpu => {
                folder == Path::new("nvidia/cu13/lib")
                    && ["libcupti.so.13", "libcudart.so.13"].contains(&name)
            }
            Self::Cuda => {
                let library = name.ends_with(".so") || name.contains(".so.");
                library
                    && (folder == Path::new("torch/lib")
                        || (entry.starts_with("nvidia") && folder.ends_with("lib")))
            }
        };
        wanted.then(|| Path::new("lib").join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(flavor: Flavor, entry: &str) -> Option<String> {
        flavor.place(Path::new(entry)).map(|path| path.display().to_string())
    }

    #[test]
    fn pins_are_whole_and_name_what_pip_is_asked_for() {
        for pin in &CUDA {
            assert!(pin.sha256.len() == 64 && pin.sha256.bytes().all(|b| b"0123456789abcdef".contains(&b)));
            let (name, version) = pin.requirement.split_once("==").unwrap();
            assert!(pin.file.starts_with(&format!("{}-{version}-", name.replace('-', "_"))), "{pin:?}");
        }
        assert_eq!(TORCH.requirement, format!("torch=={TORCH_VERSION}"));
    }

    #[test]
    fn the_cpu_build_takes_headers_and_five_libraries() {
        assert_eq!(placed(Flavor::Cpu, "torch/include/ATen/ATen.h").as_deref(), Some("include/ATen/ATen.h"));
        assert_eq!(placed(Flavor::Cpu, "torch/lib/libc10.so").as_deref(), Some("lib/libc10.so"));
        assert_eq!(
            placed(Flavor::Cpu, "nvidia/cu13/lib/libcudart.so.13").as_deref(),
            Some("lib/libcudart.so.13")
        );
        for unwanted in
            ["torch/lib/libtorch_cuda.so", "torch/__init__.py", "nvidia/cu13/lib/libcheckpoint.so"]
        {
            assert_eq!(placed(Flavor::Cpu, unwanted), None, "{unwanted}");
        }
    }

    #[test]
    fn the_cuda_build_takes_every_library() {
        for wanted in
            ["torch/lib/libtorch_cuda.so", "nvidia/cudnn/lib/libcudnn.so.9", "torch/lib/libgomp.so.1"]
        {
            assert!(placed(Flavor::Cuda, wanted).is_some(), "{wanted}");
        }
        for unwanted in ["torch/bin/protoc", "nvidia/cu13/include/cuda.h", "triton/_C/libtriton.so"] {
            assert_eq!(placed(Flavor::Cuda, unwanted), None, "{unwanted}");
        }
    }
}
