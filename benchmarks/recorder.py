"""What a recording costs: a small network's training, alone and under the recorder, in CPU time of this process.

usage: python benchmarks/recorder.py

Prints the ratio for the full recording and the light one, for networks of several widths, healthy and with a leak: the
smaller the network, the larger the share of what is done for each operation.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from flake8_torchleak.recorder import record

STEPS, BATCH, ROUNDS = 200, 64, 3


def train(width: int, leak: bool) -> None:
    """Eight layers, `STEPS` steps of batch `BATCH`; with a leak every loss is kept."""
    layers = [layer for _ in range(8) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(width, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(STEPS):
        inputs, targets = torch.randn(BATCH, width), torch.randint(0, 10, (BATCH,))
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if leak:
            losses.append(loss)


def spent(run: Callable[[], None]) -> float:
    """Seconds of CPU."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    train(32, leak=False)
    print(f"{'width':>6} {'leak':>5} {'ms a step':>10} {'full':>6} {'light':>6}")
    for width in (64, 256, 512):
        for leak in (False, True):

            def alone(width: int = width, leak: bool = leak) -> None:
                train(width, leak)

            def full(width: int = width, leak: bool = leak) -> None:
                with record():
                    train(width, leak)

            def light(width: int = width, leak: bool = leak) -> None:
                with record(light=True):
                    train(width, leak)

            # Alternated, so that what else the machine does meets all alike.
            rounds = [(spent(alone), spent(full), spent(light)) for _ in range(ROUNDS)]
            base, of_full, of_light = (statistics.median(each[at] for each in rounds) for at in range(3))
            ratios = f"{of_full / base:6.2f} {of_light / base:6.2f}"
            print(f"{width:>6} {'yes' if leak else 'no':>5} {base / STEPS * 1000:10.2f} {ratios}")


if __name__ == "__main__":
    main()
