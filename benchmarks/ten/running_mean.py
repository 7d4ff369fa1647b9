"""A module's running mean chains the graphs of all calls."""

import torch
from common import batches
from torch import nn


class Centred(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)
        self.mean = torch.zeros(256)

    def forward(self, x):
        h = self.layer(x)
        self.mean = 0.9 * self.mean + 0.1 * h.mean(0)  # LEAK
        return h


if __name__ == "__main__":
    net = Centred()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for x, _ in batches():
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
