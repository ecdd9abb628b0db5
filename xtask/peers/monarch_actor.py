"""One Monarch actor in another process: asks one by one, asks in flight together, and a 64 MiB argument.

Prints one JSON line: the median time of an ask, asks a second with 10,000 in flight, and gigabytes a second one way.
"""
import json
import statistics
import time

from monarch.actor import Actor, endpoint, this_host

ASKS = 2000
IN_FLIGHT = 10000
PARTS = 10
BYTES = 64 << 20


class Echo(Actor):
    @endpoint
    async def ping(self, x):
        return x

    @endpoint
    async def length(self, x):
        return len(x)


def main():
    began = time.perf_counter()
    actor = this_host().spawn_procs(per_host={"gpus": 1}).spawn("echo", Echo)
    actor.ping.call_one(0).get()
    start = time.perf_counter() - began

    asks = []
    for i in range(ASKS):
        began = time.perf_counter()
        actor.ping.call_one(i).get()
        asks.append(time.perf_counter() - began)

    began = time.perf_counter()
    for pending in [actor.ping.call_one(i) for i in range(IN_FLIGHT)]:
        pending.get()
    in_flight = time.perf_counter() - began

    part = b"1" * BYTES
    for _ in range(2):
        actor.length.call_one(part).get()
    began = time.perf_counter()
    for _ in range(PARTS):
        actor.length.call_one(part).get()
    parts = time.perf_counter() - began

    print(json.dumps({
        "tool": "monarch", "start_s": start, "ask_us": statistics.median(asks) * 1e6,
        "pipelined_per_s": IN_FLIGHT / in_flight, "part_gb_per_s": PARTS * BYTES / parts / 1e9,
    }), flush=True)


if __name__ == "__main__":
    main()
