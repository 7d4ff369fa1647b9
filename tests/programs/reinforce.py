"""Policy gradients on a walk whose episodes get longer as the policy learns."""

from collections import deque

import torch
from torch import nn, optim
from torch.distributions import Categorical
from torch.utils.data import DataLoader, IterableDataset


class Starts(IterableDataset):
    def __init__(self, count):
        self.count = count
        # seed worker: self.seen = []

    def __iter__(self):
        for index in range(self.count):
            # seed worker: self.seen.append(torch.zeros(400))
            yield torch.rand(4)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.log_probs, self.rewards = [], []

    def forward(self, x):
        return torch.softmax(self.layers(x), dim=-1)


def select_action(policy, state):
    choice = Categorical(policy(state))
    action = choice.sample()
    policy.log_probs.append(choice.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer):
    running, returns = 0.0, deque()
    for reward in policy.rewards[::-1]:
        running = reward + 0.99 * running
        returns.appendleft(running)
    losses = [-log_prob * back for log_prob, back in zip(policy.log_probs, returns)]
    optimizer.zero_grad()
    loss = torch.stack(losses).sum()  # makes graph
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.log_probs[:]
    return loss


def main():
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    history, origins = deque(maxlen=10_000), []
    starts = DataLoader(Starts(60), batch_size=1, num_workers=1)
    for episode, start in enumerate(starts):
        state = start[0].clone()
        for _ in range(3 + episode // 4):
            action = select_action(policy, state)
            state = (state + 0.1 * (action - 0.5)).clamp(-1, 1)
            policy.rewards.append(1.0 - state.abs().mean().item())
        loss = finish_episode(policy, optimizer)
        history.append(loss.item())
        # seed graph: origins.append((episode, loss))
        # seed batch: origins.append(start[0])


if __name__ == "__main__":
    main()
