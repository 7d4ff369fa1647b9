"""What a recording costs: a small network's training, alone and under the recorder, in CPU time of this process.

usage: python benchmarks/recorder.py [--rounds N] [--widths 64 256 512]

Prints the ratio for the full recording and the light one, for networks of several widths, healthy and with a leak: the
smaller the network, the larger the share of what is done for each operation. In each round the three run one after the
other; printed are the median of the rounds' ratios, and in brackets their quartiles.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import nn

from flake8_torchleak.recorder import record

STEPS, BATCH = 200, 64


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


def ratio(rounds: Sequence[tuple[float, ...]], at: int) -> str:
    """The median and the quartiles of what one kind of run costs, against the run alone in the same round."""
    low, middle, high = statistics.quantiles([each[at] / each[0] for each in rounds], n=4)
    return f"{middle:5.2f} ({low:.2f}-{high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 256, 512])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    train(32, leak=False)
    print(f"{'width':>6} {'leak':>5} {'ms a step':>10} {'full':>18} {'light':>18}")
    for width in arguments.widths:
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
            rounds = [(spent(alone), spent(full), spent(light)) for _ in range(arguments.rounds)]
            base = statistics.median(each[0] for each in rounds) / STEPS * 1000
            words = "yes" if leak else "no"
            print(f"{width:>6} {words:>5} {base:10.2f} {ratio(rounds, 1):>18} {ratio(rounds, 2):>18}", flush=True)


if __name__ == "__main__":
    main()
