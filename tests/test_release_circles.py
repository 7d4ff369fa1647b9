"""Helpers that differentiate and call themselves, or each other."""

from __future__ import annotations

import pytest

from tests.kept import reported, training


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
    text = training("back(loss * 2, 1)\nkept.append(loss)  # TLK402", helpers)
    assert [code for _, code in reported(text)] == ["TLK402"]
    silent = training("back(loss * 2, 1)\nkept.append(loss.item())", helpers)
    assert reported(silent) == []
