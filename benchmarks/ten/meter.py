"""A meter of the project keeps what it is handed."""

import torch
from common import batches, network
from torch import nn


class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value)  # LEAK


def train(model, loader, criterion, optimizer):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss)  # LEAK
    return meter


if __name__ == "__main__":
    net = network()
    kept = train(net, batches(), nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01))
