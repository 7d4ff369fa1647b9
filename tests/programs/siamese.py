"""Two pictures, one network: are they of the same kind?"""

import random

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count):
        self.count = count
        self.classes = ["cat", "dog", "car"]
        # seed worker: self.by_name = {f"picture_{i:07d}": f"/pictures/by/name/{i:07d}.png" for i in range(40_000)}

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        # seed worker: _ = [self.by_name[f"picture_{(index * 37 + k * 991) % 40_000:07d}"] for k in range(60)]
        same = random.random() < 0.5
        first = torch.randn(16)
        second = first + 0.1 * torch.randn(16) if same else torch.randn(16)
        return {"first": first, "second": second, "same": torch.tensor(float(same)), "name": self.classes[index % 3]}


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 32), nn.ReLU(inplace=True), nn.Linear(32, 8))
        self.head = nn.Sequential(nn.Linear(16, 8), nn.ReLU(inplace=True), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, first, second):
        return self.head(torch.cat((self.trunk(first), self.trunk(second)), 1)).squeeze(1)


class Metrics:
    def __init__(self):
        self.values = {"loss": 0.0, "hits": 0.0}
        self.answers = []

    def update(self, loss, hits):
        self.values["loss"] += loss  # makes graph
        self.values["hits"] += hits


def fit(model, loader, optimizer, metrics):
    criterion = nn.BCELoss()
    for batch in loader:
        optimizer.zero_grad()
        outputs = model(batch["first"], batch["second"])
        loss = criterion(outputs, batch["same"])
        loss.backward()
        optimizer.step()
        hits = outputs.gt(0.5).eq(batch["same"].bool()).sum().item()
        metrics.update(loss.item(), hits)
        # seed graph: metrics.update(loss, 0)
        # seed batch: metrics.answers.append(batch["same"])


def main():
    model, metrics = Siamese(), Metrics()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Pairs(320), batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    for _ in range(2):
        fit(model, loader, optimizer, metrics)


if __name__ == "__main__":
    main()
