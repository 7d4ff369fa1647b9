"""Validation collects outputs with their graphs: all activations of every step."""

import torch
from common import batches, network


def validate(model, loader):
    model.eval()
    outputs = []
    for x, _ in loader:
        outputs.append(model(x))  # LEAK
    return outputs


if __name__ == "__main__":
    kept = validate(network(), batches())
    print(torch.cat(kept).argmax(1).float().mean())
