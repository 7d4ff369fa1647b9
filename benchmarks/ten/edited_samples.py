"""A collate function changes the Dataset's own objects."""

import torch
from torch.utils.data import DataLoader, Dataset


class Boxes(Dataset):
    def __init__(self, count):
        self.targets = [{"boxes": [[0.0, 0.0, 1.0, float(number)]] * 50} for number in range(count)]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self.targets[index]  # LEAK


def collate(samples):
    for sample in samples:
        sample["boxes"] = torch.as_tensor(sample["boxes"])  # LEAK
    return samples


if __name__ == "__main__":
    data = Boxes(480)
    for _ in DataLoader(data, batch_size=8, collate_fn=collate):
        pass
