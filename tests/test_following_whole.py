"""Following what is of whole numbers, or drawn: it carries no history, and what is copied into it has none there."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint

HEAD = """
import torch
from torch import nn

class Rows(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.net = nn.Linear(2, 3)
        self.rows = torch.zeros(20, 3, dtype=int).to(device)
        self.real = torch.zeros(20, 3).to(device)

net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 3))
held = Rows("cpu")
data = [torch.rand(3, 2) for _ in range(20)]
rows = torch.zeros(20, 3, dtype=torch.long)
flags = torch.zeros(20, dtype=torch.bool, device="cpu")
real = torch.zeros(20, 3)
turned = rows.to(torch.float32)
kept = []
for i, x in enumerate(data):
    out = net(x)
"""
WHOLE = {
    "drawn": "kept.append(out.softmax(1).multinomial(1))",
    "sampled": "kept.append(torch.distributions.Categorical(logits=out).sample())",
    "sampled of a variable": "dist = torch.distributions.Normal(out, 1.0)\n    kept.append(dist.sample())",
    "places": "kept.append(torch.nonzero(out))",
    "places by a method": "kept.append(out.argwhere())",
    "cast to a type of Python": "kept.append(out.to(int))",
    "cast": "kept.append(out.type(torch.LongTensor))",
    "compared": "kept.append((out > 0).float())",
    "members": "kept.append(torch.isin(out.detach(), x))",
    "rows": "rows[i] = out[0]",
    "a slice": "rows[:] = out[0]",
    "an entry": "flags[i] = out[0, 0]",
    "an attribute": "held.rows[i] = out[0]",
}
REAL = {
    "itself": "kept.append(out)",
    "drawn with a graph": "kept.append(torch.distributions.Normal(out, 1.0).rsample())",
    "how likely it was": "dist = torch.distributions.Normal(out, 1.0)\n    kept.append(dist.log_prob(dist.sample()))",
    "rows": "real[i] = out[0]",
    "an attribute": "held.real[i] = out[0]",
    "made real": "turned[i] = out[0]",
}


def told(body: str) -> bool:
    return any(each.code == "TLK402" for each in lint(f"{HEAD}    {body}\n"))


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_whole_numbers_have_no_history(body: str) -> None:
    assert not told(body)


@pytest.mark.parametrize("body", REAL.values(), ids=REAL)
def test_numbers_that_have(body: str) -> None:
    assert told(body)


@pytest.mark.parametrize("body", [*WHOLE.values(), *REAL.values()], ids=[*WHOLE, *(f"real: {each}" for each in REAL)])
def test_what_torch_says(body: str) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, object] = {"__name__": "program"}
    exec(compile(f"{HEAD}    {body}\n", "program", "exec"), names)
    held, kept = names["held"], names["kept"]
    assert isinstance(kept, list)
    assert isinstance(held, torch.nn.Module)
    found = [*kept, names["rows"], names["flags"], names["real"], names["turned"], held.rows, held.real]
    assert any(each.requires_grad for each in found) == (body in REAL.values())
