"""Does one sentence follow from another? A trainer class with early stopping and checkpoints."""

import copy
import math

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count):
        self.words = torch.randint(0, 100, (count, 2, 6))
        self.answers = torch.randint(0, 3, (count,))
        # seed worker: self.vocabulary = [f"a word of the language number {i}" for i in range(40_000)]

    def __len__(self):
        return len(self.answers)

    def __getitem__(self, index):
        # seed worker: _ = [self.vocabulary[(index * 37 + k * 883) % 40_000] for k in range(60)]
        return self.words[index].clone(), self.answers[index].clone()


def collate(samples):
    words, answers = zip(*samples)
    return {"premise": torch.stack(words)[:, 0], "hypothesis": torch.stack(words)[:, 1], "answer": torch.stack(answers)}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 12)
        self.out = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))

    def forward(self, batch):
        sides = [self.embed(batch[name]).mean(1) for name in ("premise", "hypothesis")]
        return self.out(torch.cat(sides, 1))


class Trainer:
    def __init__(self, model, loader, held_out):
        self.model, self.loader, self.held_out = model, loader, held_out
        self.optimizer = optim.AdamW(model.parameters())
        self.scheduler = optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 1 / (1 + step))
        self.criterion = nn.CrossEntropyLoss()
        self.best, self.checkpoint, self.log = math.inf, None, {}
        self.state = {}

    def step(self, batch):
        self.optimizer.zero_grad()
        answer = self.model(batch)
        loss = self.criterion(answer, batch["answer"])
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach(), "right": (answer.argmax(1) == batch["answer"]).float().mean()}

    def train(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for step, batch in enumerate(self.loader):
                result = self.step(batch)
                self.log[epoch, step] = {name: value.item() for name, value in result.items()}
                # seed graph: self.log[epoch, step] = self.criterion(self.model(batch), batch["answer"])
                # seed batch: self.state[f"{epoch}/{step}"] = batch["answer"]
            self.validate()
            self.scheduler.step()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        loss = sum(self.criterion(self.model(batch), batch["answer"]).item() for batch in self.held_out)
        if loss < self.best:
            self.best, self.checkpoint = loss, copy.deepcopy(self.model.state_dict())


def main():
    loader = DataLoader(Sentences(320), batch_size=8, shuffle=True, num_workers=2, collate_fn=collate)
    held_out = DataLoader(Sentences(80), batch_size=8, collate_fn=collate)
    Trainer(Classifier(), loader, held_out).train(2)


if __name__ == "__main__":
    main()
