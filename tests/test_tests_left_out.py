"""What is found in tests is a note: who asks for no notes does not wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flake8_torchleak.finding import Severity
from flake8_torchleak.lint import lint

TEXT = """
import {package}
import torch


def fit(net, loader, optimizer):
    total = 0
    for x in loader:
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        total += loss
        torch.cuda.empty_cache()
    return print(total)
"""


EVALUATION = """
import torch


def scores(net, loader):
    net.eval()
    return [net(x).argmax(1).tolist() for x in loader]
"""


def found(text: str, least: Severity, path: str | None = None) -> set[tuple[str, Severity]]:
    return {(each.code, each.severity) for each in lint(text, path=path, least=least) if each.code[3] in "459"}


@pytest.mark.parametrize("least", [Severity.WARNING, Severity.ERROR])
@pytest.mark.parametrize("package", ["pytest", "unittest"])
def test_rules_that_are_on_are_left_out_for_who_asks_for_no_notes(package: str, least: Severity) -> None:
    text = TEXT.format(package=package)
    notes = {(code, severity) for code, severity in found(text, Severity.NOTE) if code[3] == "9"}
    assert notes, "a rule that is off by default"
    assert found(text, least) == notes


def test_all_else_is(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").touch()
    text = TEXT.format(package="os")
    told = {code for code, severity in found(text, Severity.WARNING) if severity is not Severity.NOTE}
    assert told == {"TLK401"}
    assert found(text, Severity.WARNING) == found(text, Severity.NOTE)
    inside = str(tmp_path / "tests" / "steps.py")
    assert found(EVALUATION, Severity.NOTE, inside) == {("TLK501", Severity.NOTE)}
    assert not found(EVALUATION, Severity.WARNING, inside)
