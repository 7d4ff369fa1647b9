"""What the ten programs share: a small network, and data."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 60


def network():
    layers = [layer for _ in range(3) for layer in (nn.Linear(256, 256), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(256, 10))


def batches(count=STEPS):
    data = TensorDataset(torch.randn(count * 64, 256), torch.randint(0, 10, (count * 64,)))
    return DataLoader(data, batch_size=64)
