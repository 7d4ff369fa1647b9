"""Labels of every batch are kept: one file descriptor each."""

import torch
from common import STEPS
from torch.utils.data import DataLoader, TensorDataset


def collect(loader):
    labels = []
    for _, y in loader:
        labels.append(y.numpy())  # LEAK
    return labels


if __name__ == "__main__":
    data = TensorDataset(torch.randn(STEPS * 8, 16), torch.arange(STEPS * 8))
    kept = collect(DataLoader(data, batch_size=8, num_workers=2))
