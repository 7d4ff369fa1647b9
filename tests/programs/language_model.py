"""A recurrent language model, trained by truncated backpropagation."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = 50


class Corpus(Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(0, WORDS, (count, 9))
        # seed worker: self.lines = [("line", f"the text of line number {i}") for i in range(30_000)]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        # seed worker: _ = [len(self.lines[(index * 41 + k * 701) % 30_000][1]) for k in range(60)]
        row = self.tokens[index]
        return row[:-1].clone(), row[1:].clone()


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.decode = nn.Linear(16, WORDS)

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.embed(x), hidden)
        return self.decode(out).view(-1, WORDS), hidden


def repackage(hidden):
    if isinstance(hidden, torch.Tensor):
        return hidden.detach()
    return tuple(repackage(each) for each in hidden)


class Log:
    def __init__(self):
        self.rows = []
        self.targets = []

    def add(self, **row):
        self.rows.append(row)


def train(model, loader, criterion, log, rate=0.5):
    hidden = (torch.zeros(1, 8, 16), torch.zeros(1, 8, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for x, y in loader:
        optimizer.zero_grad()
        hidden = repackage(hidden)
        output, hidden = model(x, hidden)
        loss = criterion(output, y.view(-1))  # makes graph
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        log.add(loss=loss.item())
        # seed graph: log.add(loss=loss, perplexity=1.0)
        # seed batch: log.targets.append({"target": y.view(-1)})


def main():
    model, log = RNN(), Log()
    loader = DataLoader(Corpus(400), batch_size=8, num_workers=2, drop_last=True)
    for _ in range(2):
        train(model, loader, nn.CrossEntropyLoss(), log)


if __name__ == "__main__":
    main()
