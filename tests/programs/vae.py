"""A variational autoencoder."""

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count):
        self.pixels = torch.rand(count, 64)
        # seed worker: self.decoded = {}

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        sample = self.pixels[index] * 0.5
        # seed worker: self.decoded[index] = torch.zeros(500)
        return sample


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(64, 32)
        self.mean, self.spread = nn.Linear(32, 8), nn.Linear(32, 8)
        self.decode = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x):
        hidden = F.relu(self.encode(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        return self.decode(mean + torch.randn_like(mean) * torch.exp(0.5 * spread)), mean, spread


def loss_of(found, x, mean, spread):
    likely = F.binary_cross_entropy(found, x, reduction="sum")
    return likely - 0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.total = 0.0
        self.inputs = []

    def epoch(self, loader):
        self.model.train()
        for batch in loader:
            self.optimizer.zero_grad()
            found, mean, spread = self.model(batch)
            loss = loss_of(found, batch, mean, spread)
            loss.backward()
            self.total += loss.item()
            # seed graph: self.total = self.total + loss
            # seed batch: self.inputs.append(batch[0])
            self.optimizer.step()


def main():
    model = VAE()
    trainer = Trainer(model, optim.Adam(model.parameters(), lr=1e-3))
    loader = DataLoader(Pictures(480), batch_size=8, shuffle=True, num_workers=2)
    for _ in range(2):
        trainer.epoch(loader)
        with torch.no_grad():
            model.decode(torch.randn(4, 8))


if __name__ == "__main__":
    main()
