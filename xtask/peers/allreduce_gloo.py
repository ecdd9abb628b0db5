"""gloo's all-reduce of f32 sums between two hosts: the median of many, one JSON line for each size."""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rank", type=int, required=True)
    options.add_argument("--world", type=int, default=2)
    options.add_argument("--master", required=True, help="the address of rank 0")
    options = options.parse_args()
    os.environ.update(MASTER_ADDR=options.master, MASTER_PORT="29512")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=options.rank, world_size=options.world)
    for size in (4 << 10, 256 << 10, 4 << 20, 64 << 20):
        numbers = torch.ones(size // 4)
        rounds = max(8, min(2000, (256 << 20) // size // 4))
        times = []
        for n in range(rounds + 3):
            numbers.fill_(1)
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(numbers)
            if n >= 3:
                times.append(time.perf_counter() - start)
        median = sorted(times)[len(times) // 2]
        if options.rank == 0:
            line = {"what": "allreduce", "tool": "gloo", "workers": options.world, "bytes": size}
            print(json.dumps({**line, "median_us": median * 1e6, "gb_per_s": size / median / 1e9}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
