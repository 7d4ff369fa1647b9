"""Ways through the model that few programs take: each with what must be said of it."""

from __future__ import annotations

import importlib

import pytest

from flake8_torchleak.model.prospect import may_run_in_vain
from flake8_torchleak.model.reading import Reader


def test_the_command_is_not_run_by_processes_that_import_it_again() -> None:
    """Dask's import it by another name."""
    assert not hasattr(importlib.import_module("flake8_torchleak.__main__"), "main")


@pytest.mark.parametrize(("line", "expected"), [("a = 1; b = 2", True), ("a = 1", False)])
def test_statements_in_one_line_may_be_a_program(line: str, expected: bool) -> None:
    text = f"import torch.nn as nn\n{line}\ndef f(rows):\n    for row in rows:\n        nn.Linear(row)\n"
    assert may_run_in_vain(text) is expected


def test_answers_that_are_kept_are_few() -> None:
    reader = Reader()
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return -number

    assert [reader.made(make, (each,), 1) for each in (1, 1, 2, 1)] == [-1, -1, -2, -1]
    assert made == [1, 2, 1]
