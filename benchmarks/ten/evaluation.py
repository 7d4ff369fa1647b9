"""An evaluation loop records graphs that nobody asks for."""

from common import batches, network


def accuracy(model, loader):
    model.eval()
    correct = count = 0
    for x, y in loader:  # LEAK
        output = model(x)  # LEAK
        correct += (output.argmax(1) == y).sum().item()
        count += len(y)
    return correct / count


if __name__ == "__main__":
    print(accuracy(network(), batches()))
