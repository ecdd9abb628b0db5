"""The denoising autoencoder of examples/mnist-mlp in PyTorch: one process, or DDP over gloo with several.

Does the same work in a step as ours: a batch drawn at random for each worker, bytes to numbers, masking noise of 0.3,
forward, binary cross-entropy, backward, average of gradients, Adam. One thread for each worker. The first steps are
not timed. Prints one JSON line for each measurement.
"""
import argparse
import gzip
import json
import socket
import time
from pathlib import Path

import numpy as np
import torch
from torch import distributed, multiprocessing, nn

MASKED = 0.3
LEARNING_RATE = 1e-3
WARM_UP_STEPS = 10
SIZES = ((512, 64, 128, 150), (1024, 128, 128, 100), (2048, 256, 128, 40))  # hidden, code, batch of a worker, steps


def images(folder):
    """All training images as bytes, shape (60000, 784). An IDX file of images has a head of 16 bytes."""
    path = Path(folder) / "train-images-idx3-ubyte"
    content = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(path.name + ".gz").read_bytes())
    return torch.from_numpy(np.frombuffer(content, dtype=np.uint8)[16:].reshape(-1, 784).copy())


def autoencoder(hidden, code):
    return nn.Sequential(
        nn.Linear(784, hidden), nn.ReLU(),
        nn.Linear(hidden, code), nn.ReLU(),
        nn.Linear(code, hidden), nn.ReLU(),
        nn.Linear(hidden, 784), nn.Sigmoid(),
    )


def train(rank, workers, master, folder, size):
    hidden, code, batch, steps = size
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = autoencoder(hidden, code)
    if workers > 1:
        distributed.init_process_group("gloo", init_method=f"tcp://{master}", rank=rank, world_size=workers)
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    data = images(folder)
    random = torch.Generator().manual_seed(rank)
    loss_of = nn.BCELoss()

    def step():
        chosen = torch.randint(0, len(data), (batch,), generator=random)
        clean = data[chosen].float().div_(255)
        noisy = clean * (torch.rand(clean.shape, generator=random) >= MASKED)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(noisy), clean)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(WARM_UP_STEPS):
        step()
    start = time.perf_counter()
    for _ in range(steps):
        loss = step()
    took = time.perf_counter() - start
    if rank == 0:
        print(json.dumps({
            "tool": "ddp_gloo" if workers > 1 else "pytorch", "workers": workers, "hidden": hidden, "code": code,
            "batch": batch, "steps": steps, "samples_per_s": workers * batch * steps / took,
            "loss": loss.item(),
        }), flush=True)
    if workers > 1:
        distributed.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--mnist", required=True, help="folder of the IDX files, plain or compressed")
    arguments.add_argument("--workers", type=int, default=2)
    for name in ("hidden", "code", "batch", "steps"):
        arguments.add_argument(f"--{name}", type=int, help="all four for one size; none for the three usual ones")
    arguments.add_argument("--rank", type=int, help="be this one of the workers, the others being elsewhere")
    arguments.add_argument("--master", metavar="ADDRESS:PORT", help="where rank 0 listens, with --rank")
    given = arguments.parse_args()
    one = (given.hidden, given.code, given.batch, given.steps)
    if any(one) and not all(one):
        arguments.error("--hidden, --code, --batch and --steps go together")
    if (given.rank is None) != (given.master is None):
        arguments.error("--rank and --master go together")
    for size in [one] if all(one) else SIZES:
        if given.workers == 1:
            train(0, 1, None, given.mnist, size)
        elif given.rank is not None:
            train(given.rank, given.workers, given.master, given.mnist, size)
        else:
            master = f"127.0.0.1:{free_port()}"
            multiprocessing.spawn(train, args=(given.workers, master, given.mnist, size), nprocs=given.workers)


if __name__ == "__main__":
    main()
