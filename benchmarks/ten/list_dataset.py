"""A Dataset holds a long list of texts: each worker copies it as it reads."""

import torch
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, count):
        self.texts = [f"{number:09d} some text of a record" for number in range(count)]  # LEAK

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return torch.tensor(len(self.texts[index]))  # LEAK


if __name__ == "__main__":
    for _ in DataLoader(Texts(200_000), batch_size=1000, num_workers=2, shuffle=True):
        pass
