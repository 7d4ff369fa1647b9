"""Enumerations without the hook of `Enum`: the same members."""

from __future__ import annotations

import ast
from enum import Enum, IntEnum
from pathlib import Path

from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.values import Graph, Kind
from flake8_torchleak.model.index import count
from flake8_torchleak.model.members import by_name

FIXTURES = Path(__file__).parents[1] / "fixtures"


class Plain(Enum):
    """Said of it."""

    ONE = "one"
    TWO = "two"


def test_members_are_those_of_the_enumeration() -> None:
    fast = by_name(Plain)
    assert (fast.ONE, fast.TWO) == (Plain.ONE, Plain.TWO)
    assert fast.ONE is Plain.ONE
    assert (fast.__doc__, fast.__name__) == ("Said of it.", "Plain")
    assert not issubclass(fast, Enum)


def test_members_have_their_names_values_and_order() -> None:
    assert isinstance(Kind.NUMBER, Enum)
    assert (Kind.NUMBER.name, Kind.NUMBER.value) == ("NUMBER", "number")
    assert isinstance(Graph.YES, IntEnum)
    assert max(Graph.NO, Graph.YES, Graph.MAYBE) is Graph.YES


def test_nodes_of_statements_are_those_of_the_module() -> None:
    known = of_node(count)
    for path in sorted(FIXTURES.rglob("*.py"))[::10]:
        try:
            root = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        assert 1 + sum(map(known, root.body)) == 1 + sum(map(known, root.body)) == count(root)
