"""A hook is registered in every step and never removed."""

import torch
from common import batches, network
from torch import nn


def train(model, loader, criterion, optimizer):
    norms = {}
    for x, y in loader:
        model[0].register_forward_hook(lambda module, args, output: norms.update(last=output.norm().item()))  # LEAK
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return norms


if __name__ == "__main__":
    net = network()
    train(net, batches(), nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), lr=0.01))
