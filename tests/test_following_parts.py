"""Loops that are parts of a step, callers that switch gradients off, and what only names say of a batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.lint import lint
from flake8_torchleak.model import importers
from tests.test_project import put


def severities(code: str, text: str, path: Path | None = None) -> list[str]:
    importers.forget()
    found = lint(text, path=str(path) if path is not None else None)
    return [each.severity.value for each in found if each.code == code]


LEVELS = """
import torch
from torch.utils.data import DataLoader

def train(data, parts, steps):
    for step in range(steps):
        batch = data.sample()
        {begun}
        for m in range(parts["levels"]):
            {chosen}
            optimizer.zero_grad()
            out = net(batch)
            kept.append(out)
            loss = out["rgb"].mean()
            loss.backward()
            optimizer.step()
        print(step)
"""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("optimizer, net = parts['optimizer_{}'.format(m)], parts[f'net_{m}']", []),
        ("optimizer, net = parts['optimizers'][m], parts['nets'][m]", []),
        ("optimizer, net = parts['optimizer'], parts['net']", ["note"]),
        ("optimizer = torch.optim.SGD(parts['net'].parameters()); net = parts['net']", ["note"]),
    ],
)
def test_a_loop_over_optimizers_is_a_part_of_a_step(chosen: str, expected: list[str]) -> None:
    assert severities("TLK402", LEVELS.format(begun="kept = []", chosen=chosen)) == expected


def test_what_starts_before_all_steps_grows_in_a_loop_over_optimizers() -> None:
    chosen = "optimizer, net = parts['optimizers'][m], parts['nets'][m]"
    text = LEVELS.format(begun="pass", chosen=chosen).replace("    for step", "    kept = []\n    for step")
    assert severities("TLK402", text) != []


DISCRIMINATORS = """
import torch
from torch import nn
from torch.utils.data import DataLoader

def train(data, generator, count):
    nets = [nn.Linear(3, 1) for _ in range(count)]
    optimizers = []
    for net in nets:
        optimizers.append(torch.optim.Adam(net.parameters()))
    batches = iter(DataLoader(data))
    {before}
    while True:
        images = next(batches)
        fakes = generator(images)
        {inside}
        for i in range(len(nets)):
            nets[i].zero_grad()
            loss = nets[i](fakes[i].detach()).mean() - nets[i](images[i]).mean()
            loss.backward()
            optimizers[i].step()
            total += loss
        print(total.item())
"""


@pytest.mark.parametrize(("before", "inside", "expected"), [("pass", "total = 0", 0), ("total = 0", "pass", 1)])
def test_a_sum_over_networks(before: str, inside: str, expected: int) -> None:
    assert len(severities("TLK401", DISCRIMINATORS.format(before=before, inside=inside))) == expected


FACES = """
    import torch
    from torch.utils.data import DataLoader

    def swap(net, frames):
        net.eval()
        results = []
        for frame in DataLoader(frames):
            results.append(net(frame))
        print(len(results))

    class Swapper:
        def swap_all(self, net, frames):
            net.eval()
            self.results = []
            for frame in DataLoader(frames):
                self.results.append(net(frame))
"""


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("with torch.no_grad():\n        swap(net, frames)", 0),
        ("swap(net, frames)", 1),
        ("with torch.no_grad():\n        swap(net, frames)\n    swap(net, frames)", 1),
    ],
)
def test_callers_in_other_files_without_gradients(tmp_path: Path, main: str, expected: int) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path, faces=FACES, main=f"    import torch\n    from faces import swap\n\n    {main}\n")
    path = tmp_path / "faces.py"
    text = path.read_text(encoding="utf-8")
    where = text.index("class Swapper")
    assert len(severities("TLK402", text[:where], path)) == expected


def test_callers_of_a_method_in_another_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    main = "    import torch\n    from faces import Swapper\n\n"
    main += "    with torch.no_grad():\n        Swapper().swap_all(1, 2)\n"
    put(tmp_path, faces=FACES[FACES.index("    import") :], main=main)
    path = tmp_path / "faces.py"
    text = path.read_text(encoding="utf-8")
    assert len(severities("TLK402", text, path)) == 1  # the function is called by nobody: perhaps by hand


PASS = """
import torch
from torch.utils.data import DataLoader

def evaluate(model, loader):
    {made}
    for x, {name} in loader:
        out = model(x.cuda())
        kept.append({name})
        {use}
    {end}

def main(model, data, build):
    evaluate(model, {loader})
"""
SEEN = "DataLoader(data, num_workers=4)"
OTHER = "build(num_workers=4)"


@pytest.mark.parametrize(
    ("loader", "name", "use", "expected"),
    [
        (SEEN, "y", "", ["warning"]),
        (OTHER, "labels", "", ["note"]),
        (OTHER, "labels", "print(labels.dim())", ["warning"]),
    ],
)
def test_batches_that_only_names_tell_of(loader: str, name: str, use: str, expected: list[str]) -> None:
    text = PASS.format(made="kept, n = [], 0", name=name, use=use, end="print(len(kept))", loader=loader)
    assert severities("TLK404", text) == expected


@pytest.mark.parametrize("made", ["kept, n = [], 0", "kept = []", "(kept, n), m = ([], 0), 1"])
def test_what_is_unpacked_at_once_is_held_by_no_tuple(made: str) -> None:
    text = PASS.format(made=made, name="y", use="", end="print(len(kept))", loader=SEEN)
    assert severities("TLK404", text) == ["warning" if "(kept" not in made else "error"]


def test_what_is_unpacked_from_more_or_fewer_values() -> None:
    for made in ("kept, *n = [], 0, 1", "kept, n = *[[], 0],", "kept = n = []"):
        text = PASS.format(made=made, name="y", use="", end="print(len(kept))", loader=SEEN)
        assert severities("TLK404", text), made
