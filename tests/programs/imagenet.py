"""Image classification with meters, a moving average of the weights and worker processes."""

import copy

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset, Subset


class Images(Dataset):
    def __init__(self, count, transform=None):
        self.count, self.transform = count, transform
        # seed worker: self.samples = [(f"/imagenet/train/n{i % 1000:08d}/{i:07d}.JPEG", i) for i in range(40_000)]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        # seed worker: _ = [self.samples[(index * 47 + k * 787) % 40_000][0] for k in range(60)]
        image = torch.randn(3, 8, 8)
        return self.transform(image) if self.transform else image, index % 5


def flip(image):
    return image.flip(-1)


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.value = self.sum = self.count = 0

    def update(self, value, n=1):
        self.value = value
        self.sum += value * n  # makes graph
        self.count += n


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, found = output.topk(max(topk), 1)
        right = found.t().eq(target.view(1, -1))
        return [right[:k].reshape(-1).float().sum(0) * 100 / len(target) for k in topk]


def train(loader, model, average, criterion, optimizer, meters):
    model.train()
    names = set()
    for images, target in loader:
        output = model(images)
        loss = criterion(output, target)
        top1, top5 = accuracy(output, target, topk=(1, 5))
        meters["loss"].update(loss.item(), len(images))
        meters["top1"].update(top1.item(), len(images))
        # seed graph: meters["loss"].update(loss)
        # seed batch: names.add(target[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(average.parameters(), model.parameters()):
                mine.lerp_(theirs, 0.1)


def validate(loader, model, criterion):
    meter = AverageMeter("loss")
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            meter.update(criterion(model(images), target))
    return meter.sum / meter.count


def main():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5))
    average = copy.deepcopy(model)
    optimizer = optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(Images(320, flip), batch_size=8, shuffle=True, num_workers=2)
    held_out = DataLoader(Subset(Images(160), range(80)), batch_size=8, num_workers=1)
    for _ in range(2):
        meters = {name: AverageMeter(name) for name in ("loss", "top1")}
        train(loader, model, average, criterion, optimizer, meters)
        validate(held_out, model, criterion)


if __name__ == "__main__":
    main()
