"""Helpers that differentiate and call themselves, or each other."""

from __future__ import annotations

import pytest

from flake8_torchleak.lint import lint
from tests.kept import marked, training


@pytest.mark.parametrize(
    "helpers",
    [
        "def back(v, n):\n    if n:\n        back(v * 1, n - 1)\n    v.backward()",
        "def back(v, n):\n    if n:\n        back(v, n - 1)\n    v.backward()",
        "def back(v, n):\n    v.backward()\n    if n:\n        forth(v, n)\ndef forth(v, n):\n    back(v, n - 1)",
    ],
    ids=["itself, with a new one", "itself", "each other"],
)
def test_a_helper_in_a_circle_is_looked_at(helpers: str) -> None:
    def step(body: str) -> str:
        return training(body, helpers).replace("loss.backward()", "back(loss, 2)")

    leak = step("kept.append(loss)  # TLK402")
    assert [(each.span.line, each.code) for each in lint(leak, fixes=True)] == marked(leak)
    assert lint(step("kept.append(loss.item())"), fixes=True) == []
