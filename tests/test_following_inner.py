"""Loops that are a part of one training step: what they collect is small and dropped with it; step loops stay steps."""

from __future__ import annotations

from textwrap import indent

import pytest

from flake8_torchleak.finding import Severity
from tests.kept import findings, program

STEP = "loss = nn.functional.mse_loss(net(x), y)\nopt.zero_grad()\nloss.backward()\nopt.step()\n"
MEAN = "print(torch.stack(losses).mean().item())"


def inner(
    loop: str, above: str = "", body: str = STEP, after: str = MEAN, given: str = "net, nets, opt, opts, x, y, n"
) -> str:
    """A function that collects what a loop makes in its steps."""
    lines = (
        f"def f({given}):\n"
        f"{indent(above, '    ')}\n"
        "    losses = []\n"
        f"    for {loop}:\n"
        f"{indent(body, ' ' * 8)}        losses.append(loss)\n"
        f"    {after}\n"
    )
    return program(lines)


def stepwise(around: str, loop: str, body: str = STEP, after: str = MEAN, head: str = "") -> str:
    """The same in each iteration of a loop around."""
    given = "net, nets, opt, opts, env, batches, loader: DataLoader, n, total"
    lines = (
        f"def f({given}):\n"
        f"    for {around}:\n"
        f"{indent(head, ' ' * 8)}        losses = []\n"
        f"        for {loop}:\n"
        f"{indent(body, ' ' * 12)}            losses.append(loss)\n"
        f"        {after}\n"
    )
    return program(lines)


KEEP = "save(losses)"
"""Else what is freed and made anew in each epoch is a note."""
BACKWARD = "loss = nn.functional.mse_loss(net(x), y)\nloss.backward()\n"
SILENT = {
    "networks, in a step over batches": stepwise("x, y in loader", "net, opt in zip(nets, opts)"),
    "networks, in a step that draws": stepwise(
        "step in range(total)", "net, opt in zip(nets, opts)", head="x, y = env.sample()\n"
    ),
    "networks that their use shows": stepwise(
        "step in range(total)",
        "one in nets",
        "one.zero_grad()\nloss = nn.functional.mse_loss(one(x), y)\nloss.backward()\n",
        head="x, y = env.sample()\n",
    ),
    "steps of adaptation, in a step over batches": stepwise("x, y in loader", "k in range(n)"),
    "networks, in a helper": program("""
        def one(nets, opts, x, y):
            losses = []
            for net, opt in zip(nets, opts):
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad(); loss.backward(); opt.step()
                losses.append(loss)
            return losses
        def train(nets, opts, loader: DataLoader):
            for x, y in loader:
                print(sum(loss.item() for loss in one(nets, opts, x, y)))
    """),
    "a sum over tasks, in a step over batches": program("""
        def f(net, opt, tasks, loader: DataLoader):
            for x, y in loader:
                total = 0
                for task in tasks:
                    loss = nn.functional.mse_loss(net(x, task), y)
                    loss.backward()
                    total += loss
                opt.step()
                print(total.item())
    """),
}
NOTES = {
    "networks": inner("net, opt in zip(nets, opts)"),
    "tasks, of which all make one step": inner(
        "x, y in tasks", body=BACKWARD, after="opt.step()", given="net, opt, tasks"
    ),
    "tasks, and what steps is known": inner(
        "x, y in tasks", "opt = torch.optim.SGD(net.parameters(), 0.1)", BACKWARD, "opt.step()", "net, tasks"
    ),
    "steps on what is given": inner("_ in range(n)"),
    "a sum of steps on what is given": program("""
        def f(net, opt, x, y, n):
            total = torch.zeros(())
            for _ in range(n):
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad(); loss.backward(); opt.step()
                total = total + loss
            print(total.item())
    """),
    "a sum in place of steps on what is given": program("""
        def f(net, opt, x, y, n):
            total = torch.zeros(())
            for _ in range(n):
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad(); loss.backward(); opt.step()
                total += loss
            return total.item()
    """),
    "steps in a method": program("""
        class Agent:
            def __init__(self, nets, opts):
                self.nets, self.opts = nets, opts
            def update(self, x, y):
                losses = []
                for net, opt in zip(self.nets, self.opts):
                    loss = nn.functional.mse_loss(net(x), y)
                    opt.zero_grad(); loss.backward(); opt.step()
                    keep(losses, loss)
                return torch.stack(losses).mean().item()
        def keep(store, value): store.append(value)
    """),
}
REPORTED = {
    "networks, and what is collected is returned": inner("net, opt in zip(nets, opts)", after="return losses"),
    "networks, and an object keeps it": program("""
        class Agent:
            def __init__(self, nets, opts):
                self.nets, self.opts, self.losses = nets, opts, []
            def update(self, x, y):
                for net, opt in zip(self.nets, self.opts):
                    loss = nn.functional.mse_loss(net(x), y)
                    opt.zero_grad(); loss.backward(); opt.step()
                    self.losses.append(loss)
    """),
    "steps, and an object gets what they leave": inner("_ in range(n)", after="net.losses = losses"),
    "steps, and another container gets it": inner("_ in range(n)", after="opts.append(losses)"),
    "steps whose sum is returned": program("""
        def f(net, opt, x, y, n):
            total = 0
            for _ in range(n):
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad(); loss.backward(); opt.step()
                total = total + loss
            return total
    """),
    "steps that a bar shows": inner("_ in tqdm(range(n))"),
    "steps that print": inner("i in range(n)", body=STEP + "print(i, loss.item())\n"),
    "steps that do something now and then": inner("i in range(n)", body=STEP + "if i % 10 == 0:\n    save(net)\n"),
    "steps that draw": inner("_ in range(n)", body="x, y = env.sample(32)\n" + STEP),
    "steps that draw with next": inner("_ in range(n)", body="x, y = next(batches)\n" + STEP),
    "steps on noise": inner("_ in range(n)", body="x = torch.randn(8, 2)\n" + STEP),
    "steps over slices": inner(
        "i in range(0, len(x), 32)", body=STEP.replace("net(x), y", "net(x[i:i + 32]), y[i:i + 32]")
    ),
    "steps over rows": inner("i in range(n)", body=STEP.replace("net(x), y", "net(x[i]), y[i]")),
    "steps over what is given": inner("x, y in batches", given="net, opt, batches"),
    "steps without an end": program("""
        def f(net, opt, x, y):
            losses = []
            while len(x) > y:
                loss = nn.functional.mse_loss(net(x), y)
                opt.zero_grad(); loss.backward(); opt.step()
                losses.append(loss)
            print(torch.stack(losses).mean().item())
    """),
    "slices in epochs": stepwise(
        "epoch in range(total)", "i in range(0, len(env), 32)", STEP.replace("net(x), y", "net(env[i:i + 32]), n"), KEEP
    ),
    "batches in epochs": stepwise("epoch in range(total)", "x, y in batches", after=KEEP),
    "batches of a loader, one step for all": program("""
        def f(net, opt, loader: DataLoader):
            losses = []
            for x, y in loader:
                loss = nn.functional.mse_loss(net(x), y)
                loss.backward()
                losses.append(loss)
            opt.step()
            print(len(losses))
    """),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_part_of_a_step(name: str) -> None:
    assert findings(SILENT[name]) == []


@pytest.mark.parametrize("name", NOTES)
def test_a_part_of_a_step_that_nobody_is_seen_to_make(name: str) -> None:
    assert [each.severity for each in findings(NOTES[name])] == [Severity.NOTE]


@pytest.mark.parametrize("name", REPORTED)
def test_steps_stay_steps(name: str) -> None:
    found = [each.severity for each in findings(REPORTED[name])]
    assert found
    assert Severity.NOTE not in found
