//! The wheels of NVIDIA's libraries that the CUDA build loads, each known to the last byte.
use super::flavor::{CUDART, CUPTI, Pin, TORCH};

/// PyTorch with all that its metadata asks of NVIDIA, at the versions it asks for.
pub const CUDA: [Pin; 16] = [
    TORCH,
    CUPTI,
    CUDART,
    Pin {
        requirement: "nvidia-cublas==13.1.0.3",
        file: "nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171",
        bytes: 423_133_236,
    },
    Pin {
        requirement: "nvidia-cuda-nvrtc==13.0.88",
        file: "nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
        sha256: "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
        bytes: 90_215_200,
    },
    Pin {
        requirement: "nvidia-cudnn-cu13==9.19.0.56",
        file: "nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf",
        bytes: 366_066_321,
    },
    Pin {
        requirement: "nvidia-cufft==12.0.0.61",
        file: "nvidia_cufft-12.0.0.61-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3",
        bytes: 214_085_489,
    },
    Pin {
        requirement: "nvidia-cufile==1.15.1.6",
        file: "nvidia_cufile-1.15.1.6-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44",
        bytes: 1_223_672,
    },
    Pin {
        requirement: "nvidia-curand==10.4.0.35",
        file: "nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc",
        bytes: 59_544_258,
    },
    Pin {
        requirement: "nvidia-cusolver==12.0.4.66",
        file: "nvidia_cusolver-12.0.4.66-py3-none-manylinux_2_27_x86_64.whl",
        sha256: "0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112",
        bytes: 200_941_980,
    },
    Pin {
        requirement: "nvidia-cusparse==12.6.3.3",
        file: "nvidia_cusparse-12.6.3.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b",
        bytes: 145_942_937,
    },
    Pin {
        requirement: "nvidia-cusparselt-cu13==0.8.0",
        file: "nvidia_cusparselt_cu13-0.8.0-py3-none-manylinux2014_x86_64.whl",
        sha256: "25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd",
        bytes: 169_884_119,
    },
    Pin {
        requirement: "nvidia-nccl-cu13==2.28.9",
        file: "nvidia_nccl_cu13-2.28.9-py3-none-manylinux_2_18_x86_64.whl",
        sha256: "e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42",
        bytes: 196_493_177,
    },
    Pin {
        requirement: "nvidia-nvjitlink==13.0.88",
        file: "nvidia_nvjitlink-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
        sha256: "13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b",
        bytes: 40_713_933,
    },
    Pin {
        requirement: "nvidia-nvshmem-cu13==3.4.5",
        file: "nvidia_nvshmem_cu13-3.4.5-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80",
        bytes: 60_412_546,
    },
    Pin {
        requirement: "nvidia-nvtx==13.0.85",
        file: "nvidia_nvtx-13.0.85-py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl",
        sha256: "4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4",
        bytes: 148_047,
    },
];
