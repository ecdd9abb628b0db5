"""One Ray actor in another process: asks one by one, asks in flight together, and a 64 MiB argument.

Prints one JSON line: the median time of an ask, asks a second with 10,000 in flight, and gigabytes a second one way.
"""
import json
import statistics
import time

import numpy as np
import ray

ASKS = 2000
IN_FLIGHT = 10000
PARTS = 10
WORDS = 16 << 20  # 64 MiB of f32


@ray.remote
class Echo:
    def ping(self, x):
        return x

    def size(self, x):
        return x.nbytes


def main():
    began = time.perf_counter()
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    actor = Echo.remote()
    ray.get(actor.ping.remote(0))
    start = time.perf_counter() - began

    asks = []
    for i in range(ASKS):
        began = time.perf_counter()
        ray.get(actor.ping.remote(i))
        asks.append(time.perf_counter() - began)

    began = time.perf_counter()
    ray.get([actor.ping.remote(i) for i in range(IN_FLIGHT)])
    in_flight = time.perf_counter() - began

    part = np.ones(WORDS, dtype=np.float32)
    for _ in range(2):
        ray.get(actor.size.remote(part))
    began = time.perf_counter()
    for _ in range(PARTS):
        ray.get(actor.size.remote(part))
    parts = time.perf_counter() - began

    print(json.dumps({
        "tool": "ray", "start_s": start, "ask_us": statistics.median(asks) * 1e6,
        "pipelined_per_s": IN_FLIGHT / in_flight, "part_gb_per_s": PARTS * part.nbytes / parts / 1e9,
    }), flush=True)


if __name__ == "__main__":
    main()
