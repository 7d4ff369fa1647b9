"""Each worker fills a cache of its own."""

import torch
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __init__(self, count):
        self.count = count
        self.cache = {}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = torch.randn(16_384)  # LEAK
        return self.cache[index]


if __name__ == "__main__":
    for _ in DataLoader(Volumes(640), batch_size=8, num_workers=2):
        pass
