"""The package binds each name at the top of a module once: a second table would take the place of the first."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import flake8_torchleak

PACKAGE = Path(flake8_torchleak.__file__).parent


def bound(tree: ast.Module) -> list[str]:
    """The names that plain assignments at the top of a module bind, each as often as they do."""
    plain = [each for statement in tree.body if isinstance(statement, ast.Assign) for each in statement.targets]
    typed = [statement.target for statement in tree.body if isinstance(statement, ast.AnnAssign)]
    return [each.id for each in (*plain, *typed) if isinstance(each, ast.Name)]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda each: str(each.relative_to(PACKAGE)))
def test_no_name_is_bound_twice(path: Path) -> None:
    counted = Counter(bound(ast.parse(path.read_text(encoding="utf-8"))))
    assert not [name for name, times in counted.items() if times > 1]


def test_a_name_that_is_bound_twice_is_seen() -> None:
    assert bound(ast.parse("A = 1\nB: int = 2\nA = 3\nif A:\n    B = 4\n")) == ["A", "A", "B"]
