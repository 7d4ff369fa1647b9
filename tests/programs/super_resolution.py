"""Small pictures made larger, with gradients of several batches added up."""

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Folder(Dataset):
    def __init__(self, count):
        self.large = np.random.default_rng(0).random((count, 1, 8, 8), dtype=np.float32)
        # seed worker: self.files = tuple(f"/pictures/large/{i:07d}/picture.png" for i in range(40_000))

    def __len__(self):
        return len(self.large)

    def __getitem__(self, index):
        # seed worker: _ = [self.files[(index * 43 + k * 887) % 40_000] for k in range(60)]
        target = torch.from_numpy(self.large[index].copy())
        return target[:, ::2, ::2].contiguous(), target


class Upscale(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, 1, 1)
        self.second = nn.Conv2d(8, 4, 3, 1, 1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        return self.shuffle(self.second(torch.relu(self.first(x))))


def train(model, loader, optimizer, criterion, every=2):
    epoch_loss, parts, kept = 0.0, [], []
    for step, (small, large) in enumerate(loader, 1):
        loss = criterion(model(small), large)
        parts.append(loss)
        if step % every == 0:
            optimizer.zero_grad()
            total = sum(parts)
            total.backward()
            optimizer.step()
            epoch_loss += total.item()
            parts.clear()
            # seed graph: epoch_loss = total + epoch_loss
        # seed batch: kept.append(small.numpy()[0])
    return epoch_loss


def test(model, loader, criterion):
    noise = 0.0
    with torch.inference_mode():
        for small, large in loader:
            noise += 10 * torch.log10(1 / criterion(model(small), large))
    return noise


def main():
    model, criterion = Upscale(), nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Folder(480), batch_size=8, num_workers=2)
    for _ in range(2):
        train(model, loader, optimizer, criterion)
        test(model, DataLoader(Folder(80), batch_size=8), criterion)


if __name__ == "__main__":
    main()
