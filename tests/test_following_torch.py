"""Following a program: what functions of torch and numpy make of values, and what is remembered by a cache."""

from __future__ import annotations

import pytest

from tests.kept import grows, marked, reported, training

KEEP = "def keep(store, value): store.append(value)\n"
QUEUE = "queue = torch.zeros(0, 1)"
NET = "kept, net = [], nn.Linear(2, 1)\n"
CACHED = "@functools.lru_cache(maxsize={})\ndef same(v): return v"

PROGRAMS: dict[str, str] = {
    "put behind each other": training(
        "queue = join(queue, model(x))  # TLK402", "def join(a, b): return torch.cat([a, b])", QUEUE
    ),
    "put behind each other and cut": training("queue = torch.cat([queue, model(x)])[-6:]  # TLK402", "", QUEUE),
    "an entry of a tensor": training("rows[i] = model(x).mean()  # TLK402", "", "rows = torch.zeros(100)"),
    "rows of a tensor": training("rows[i:] = model(x).mean()  # TLK402", "", "rows = torch.zeros(100)"),
    "all rows of a tensor": training("rows[:] = rows * 0.9 + model(x).mean()  # TLK402", "", "rows = torch.zeros(5)"),
    "numbers in rows of a tensor": training("rows[i:] = model(x).mean().item()", "", "rows = torch.zeros(100)"),
    "a number in an entry of a tensor": training("rows[i] = model(x).mean().item()", "", "rows = torch.zeros(100)"),
    # -- views without gradients ------------------------------------------------------------------------------------
    **{
        f"without gradients, {how}": training(
            f"v = model(x)\nwith torch.no_grad():\n    keep(kept, {how}){'  # TLK402' if kept else ''}", KEEP
        )
        for how, kept in {
            "v": True,
            "v[0]": True,
            "v[:2]": True,
            "v.view(-1)": True,
            "v.T": True,
            "v.squeeze()": True,
            "torch.squeeze(v)": True,
            "v.transpose(0, 1)": True,
            "list(v)": True,
            "v * 2": False,
            "v.clone()": False,
            "v.detach()": False,
            "v.data": False,
            "v[v > 0]": False,
            "v.sum()": False,
            "v.detach()[:2]": False,
        }.items()
    },
    "without gradients, taken apart": training(
        "v = torch.relu(model(x))\nwith torch.no_grad():\n    a, b, c = v\nkeep(kept, b)  # TLK402",
        KEEP,
    ),
    "an array": training("keep(kept, loss.detach().numpy())", KEEP),
    "numbers that numpy averages": training(
        "keep(kept, loss.item())\nprint(np.mean(kept))", KEEP + "import numpy as np"
    ),
    "values by size": training("v, j = model(x).topk(1)\nkeep(kept, v)  # TLK402", KEEP),
    "indices by size": training("v, j = model(x).topk(1)\nkeep(kept, j)", KEEP),
    "the largest": training("keep(kept, torch.max(model(x)))  # TLK402", KEEP),
    "the largest of each row": training("keep(kept, torch.max(model(x), 1))  # TLK402", KEEP),
    "where the largest of each row is": training("keep(kept, torch.max(model(x), dim=1).indices)", KEEP),
    "made of a leaf": training("w = torch.zeros(1, requires_grad=True)\nkeep(kept, w * 2)  # TLK402", KEEP),
    "a schedule": training("keep(kept, torch.optim.lr_scheduler.StepLR(optimizer, 1).get_last_lr())", KEEP),
    "an optimizer": training("keep(kept, torch.optim.SGD(model.parameters(), lr=0.1).step())", KEEP),
    "computed again": training(
        "keep(kept, torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False))  # TLK402",
        KEEP + "import torch.utils.checkpoint",
    ),
    "computed again, in parts": training(
        "keep(kept, again.checkpoint_sequential(net, 1, loss, use_reentrant=False))  # TLK402",
        KEEP + "import torch.utils.checkpoint as again",
        "kept, net = [], nn.Sequential(nn.Flatten(0))",
    ),
    "whether there is a GPU": training("keep(kept, torch.cuda.is_available())", KEEP),
    "an error": training("keep(kept, ValueError('x'))", KEEP),
    "a function of a network": training("keep(kept, nn.functional.relu(model(x)))  # TLK402", KEEP),
    "gradients by name": training(
        "out = criterion(model(x), y)\nkeep(kept, torch.autograd.grad(outputs=out, inputs=list(model.parameters())))",
        KEEP,
    ),
    "remembered": training("same(model(x))  # TLK402", CACHED.format(None)),
    "a few are remembered": training("same(model(x))", CACHED.format(2)),
    "remembered now and then": training("same(model(x))\nif i % 2:\n    same.cache_clear()", CACHED.format(None)),
    "a network that evaluates": training("keep(kept, net(x))  # TLK402", KEEP, NET + "net.eval()"),
    "a network that is frozen": training("keep(kept, net(x))", KEEP, NET + "net.requires_grad_(False)"),
    "with gradients at times": training(
        "with torch.set_grad_enabled(i >= 0):\n    keep(kept, model(x))  # TLK402", KEEP
    ),
    "with gradients off": training("with torch.set_grad_enabled(False):\n    keep(kept, model(x))", KEEP),
    "with gradients on": training("with torch.set_grad_enabled(True):\n    keep(kept, model(x))  # TLK402", KEEP),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_torch(name: str) -> None:
    assert reported(PROGRAMS[name]) == marked(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_expected_is_what_torch_keeps(name: str) -> None:
    pytest.importorskip("torch")
    assert grows(PROGRAMS[name]) is bool(marked(PROGRAMS[name]))
