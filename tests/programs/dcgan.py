"""A generator against a discriminator."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, count):
        self.count = count
        # seed worker: self.records = [{"path": f"/faces/{i:09d}.jpg", "age": float(i)} for i in range(20_000)]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        # seed worker: _ = [self.records[(index * 31 + k * 613) % 20_000]["age"] for k in range(60)]
        return torch.randn(1, 8, 8), index % 2


def main():
    generator = nn.Sequential(nn.ConvTranspose2d(6, 8, 4), nn.ReLU(), nn.ConvTranspose2d(8, 1, 5), nn.Tanh())
    critic = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    of_critic = optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_generator = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    fixed = torch.randn(4, 6, 1, 1)
    errors = {"generator": [], "critic": []}
    kinds = {}
    loader = DataLoader(Faces(320), batch_size=8, num_workers=2)
    for epoch in range(2):
        for step, (real, kind) in enumerate(loader):
            critic.zero_grad()
            error_real = criterion(critic(real).view(-1), torch.ones(len(real)))
            error_real.backward()
            fake = generator(torch.randn(len(real), 6, 1, 1))
            error_fake = criterion(critic(fake.detach()).view(-1), torch.zeros(len(real)))
            error_fake.backward()
            error_critic = error_real + error_fake  # makes graph
            of_critic.step()
            generator.zero_grad()
            error = criterion(critic(fake).view(-1), torch.ones(len(real)))
            error.backward()
            of_generator.step()
            errors["critic"].append(error_critic.item())
            errors["generator"].append(error.item())
            # seed graph: errors["critic"].append(error_critic)
            # seed batch: kinds[epoch, step] = kind
            if step % 20 == 0:
                with torch.no_grad():
                    generator(fixed)


if __name__ == "__main__":
    main()
