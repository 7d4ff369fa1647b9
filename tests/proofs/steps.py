"""What step loops are run on: one network and its batches, so that the figures of all proofs compare."""

from __future__ import annotations

import torch
from torch import nn

STEPS, BATCH, WIDTH, CLASSES = 60, 64, 512, 10

CPU = torch.device("cpu")


def network() -> nn.Sequential:
    """Four layers, 512 wide, and a head of ten classes: for a batch of 64, four activations of 128 KB."""
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """One that keeps no state, so that the heap holds nothing but what the loop keeps."""
    return torch.optim.SGD(model.parameters(), lr=0.01)


def batches(steps: int = STEPS) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Inputs of shape (64, 512) and class labels of shape (64,)."""
    return [(torch.randn(BATCH, WIDTH), torch.randint(0, CLASSES, (BATCH,))) for _ in range(steps)]


# torch imports its compiler when the first optimizer is made, which takes seconds: before variants are forked.
optimizer_of(nn.Linear(1, 1))
