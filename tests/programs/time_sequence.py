"""Waves, foretold by a recurrent cell and LBFGS, then by Adam batch by batch."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    def __init__(self, count):
        self.phase = torch.rand(count)
        # seed worker: self.cache = [None] * 0

    def __len__(self):
        return len(self.phase)

    def __getitem__(self, index):
        wave = torch.sin(torch.arange(12) / 3 + self.phase[index])
        # seed worker: self.cache.append(wave.repeat(40))
        return wave


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(1, 8)
        self.linear = nn.Linear(8, 1)

    def forward(self, waves):
        outputs = []
        state = (torch.zeros(len(waves), 8), torch.zeros(len(waves), 8))
        for value in waves.split(1, dim=1):
            state = self.cell(value, state)
            outputs.append(self.linear(state[0]))
        return torch.cat(outputs, dim=1)


def main():
    torch.manual_seed(0)  # how often `best` is replaced is the same in every run
    model, criterion = Sequence(), nn.MSELoss()
    data = Waves(320)
    whole = torch.stack([data[i] for i in range(8)])
    lbfgs = optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    for _ in range(3):

        def closure():
            lbfgs.zero_grad()
            loss = criterion(model(whole[:, :-1]), whole[:, 1:])
            loss.backward()
            return loss

        lbfgs.step(closure)
    optimizer = optim.Adam(model.parameters())
    best, losses, waves = None, [], []
    for _ in range(2):
        for wave in DataLoader(data, batch_size=8, num_workers=2):
            out = model(wave[:, :-1])
            loss = criterion(out, wave[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if best is None or loss < best:
                best = loss
            # seed graph: losses += [loss.view(1)]
            # seed batch: waves.extend(wave[:1])
    with torch.no_grad():
        losses.append(criterion(model(whole[:, :-1]), whole[:, 1:]))


if __name__ == "__main__":
    main()
