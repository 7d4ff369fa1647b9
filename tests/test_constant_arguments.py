"""Callers that say by constants that a network is not run: with gradients on, they waste nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put

MEASURE = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    def measure(net: nn.Module, data, use_net=True, *rest, **options):
        net.eval()
        for x in DataLoader(data):
            {body}
            print(x.mean().item())
"""
UNDER = "if use_net: x = net(x)"
QUIET = "with torch.no_grad(): measure(net, data)"


@pytest.mark.parametrize(
    ("body", "calls", "told"),
    [
        (UNDER, QUIET, False),
        (UNDER, "measure(net, data)", True),
        (UNDER, f"{QUIET}\n    measure(net, data, use_net=False)", False),
        (UNDER, f"{QUIET}\n    measure(net, data, False)", False),
        (UNDER, f"{QUIET}\n    measure(net, data, 0)", False),
        (UNDER, f"{QUIET}\n    measure(net, data, True)", True),
        (UNDER, f"{QUIET}\n    measure(net, data, flag)", True),
        (UNDER, f"{QUIET}\n    for each in (False, 0): measure(net, data, each)", False),
        (UNDER, f"{QUIET}\n    for each in (False, True): measure(net, data, each)", True),
        (UNDER, f"{QUIET}\n    measure(net, *data)", True),
        (UNDER, "measure(net, data, False)", True),  # nobody else is seen to call it: who does is not known
        ("x = net(x)", f"{QUIET}\n    measure(net, data, False)", True),
        ("if not use_net: continue\n            x = net(x)", f"{QUIET}\n    measure(net, data, False)", False),
        ("if flag: x = net(x)", f"{QUIET}\n    measure(net, data, False)", True),
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_who_runs_the_network(tmp_path: Path, body: str, calls: str, told: bool, elsewhere: bool) -> None:
    text, main = (
        MEASURE.format(body=body),
        f"\n    def main(net, data, flag):\n        {calls.replace('    ', '        ')}\n",
    )
    if elsewhere:
        put(tmp_path, run=text, main=f"    import torch\n    from run import measure\n{main}")
    else:
        put(tmp_path, run=text + main)
    (tmp_path / ".git").mkdir()
    path = tmp_path / "run.py"
    importers.forget()
    found = [each for each in lint(path.read_text(encoding="utf-8"), path=str(path)) if each.code == "TLK501"]
    assert bool(found) is told
