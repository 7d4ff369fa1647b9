"""Digits: a small convolutional network, trained and tested epoch by epoch."""

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, count):
        self.images = torch.randn(count, 1, 12, 12)
        self.labels = torch.randint(0, 10, (count,))
        # seed worker: self.names = [f"/data/digits/training/{i:08d}.png" for i in range(40_000)]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        # seed worker: _ = [self.names[(index * 37 + k * 997) % 40_000] for k in range(50)]
        return self.images[index].clone(), int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(4 * 25, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.log_softmax(self.fc(self.drop(torch.flatten(x, 1))), dim=1)


def train(model, loader, optimizer):
    model.train()
    history = []
    labels = []
    for step, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)  # makes graph
        loss.backward()
        optimizer.step()
        history.append(loss.item())
        labels.append(target.sum().item())
        # seed graph: history.append(loss)
        # seed batch: labels.append(target.numpy())


def test(model, loader):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            total += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(1).eq(target).sum().item()
    return total, correct


def main():
    model = Net()
    optimizer = optim.Adadelta(model.parameters())
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
    loader = DataLoader(Digits(320), batch_size=8, shuffle=True, num_workers=2)
    held_out = DataLoader(Digits(160), batch_size=8)
    for _ in range(2):
        train(model, loader, optimizer)
        test(model, held_out)
        scheduler.step()


if __name__ == "__main__":
    main()
