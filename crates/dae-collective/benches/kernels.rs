//! The loops that every step over several workers or nodes goes through. What is counted are the bytes that must be read
//! and written once: terms and their sum; numbers, residuals and what is written for the wire.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use dae_collective::{Codec, sum};
use std::hint::black_box;
use std::time::Duration;

/// Numbers: a model of 4 MiB, more than lies in a core's own caches.
const LEN: usize = 1 << 20;

fn numbers() -> Vec<f32> {
    (0..LEN).map(|i| (i as f32 * 0.7).sin()).collect()
}

fn sums(c: &mut Criterion) {
    let mut group = c.benchmark_group("sum");
    for terms in [1, 2, 4, 8] {
        let all = vec![numbers(); terms];
        let all: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
        let mut total = vec![0.0; LEN];
        group.throughput(Throughput::Bytes(((terms + 1) * 4 * LEN) as u64));
        group.bench_function(format!("{terms} of f32"), |b| b.iter(|| sum(black_box(&all), &mut total)));
    }
    let all = vec![vec![1i64; LEN]; 2];
    let all: Vec<&[i64]> = all.iter().map(Vec::as_slice).collect();
    let mut total = vec![0; LEN];
    group.throughput(Throughput::Bytes((3 * 8 * LEN) as u64));
    group.bench_function("2 of i64", |b| b.iter(|| sum(black_box(&all), &mut total)));
}

fn codecs(c: &mut Criterion) {
    let mut group = c.benchmark_group("codec");
    let numbers = numbers();
    for codec in [Codec::F32, Codec::Bf16, Codec::F16, Codec::Int8, Codec::TopK(0.01)] {
        let written = codec.encoded_len(LEN);
        let (mut bytes, mut read) = (vec![], vec![0.0; LEN]);
        let moved = if codec.loses() { 12 } else { 4 } * LEN + written;
        group.throughput(Throughput::Bytes(moved as u64));
        group.bench_function(format!("encode {codec}"), |b| {
            let encode =
                |mut residual: Vec<f32>| codec.encode(black_box(&numbers), &mut residual, &mut bytes);
            b.iter_batched(|| vec![0.0; LEN], encode, BatchSize::LargeInput);
        });
        group.throughput(Throughput::Bytes((4 * LEN + written) as u64));
        group.bench_function(format!("decode {codec}"), |b| {
            b.iter(|| codec.decode(black_box(&bytes), &mut read).is_ok());
        });
    }
}

criterion_group! {
    name = kernels;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = sums, codecs
}
criterion_main!(kernels);
