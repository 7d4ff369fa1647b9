"""The definitions of one variable, in order, with what is asked of each again and again."""

from __future__ import annotations

import ast
from bisect import bisect_left
from functools import cached_property

from flake8_torchleak.model.bindings import ARMS, Definition, How
from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.tree import Tree
from flake8_torchleak.model.ways import Span, Ways, is_tensor_check

_ENDS = frozenset({How.PARAMETER, How.ITERATE})
Above = tuple[list[Definition], Definition | None]
"""Definitions that may reach a place from above, nearest first, and the one above which none is looked for."""


class Track:
    """The definitions of one variable in one scope, in the order in which they take effect."""

    def __init__(self, definitions: list[Definition], ways: Ways) -> None:
        self._tree = ways.tree
        self.definitions = sorted(definitions, key=_effect)
        self.effects = [each.effect for each in self.definitions]
        self.numbers = [ways.tree.number(each.statement) for each in self.definitions]
        self.by_exit: dict[Span | None, list[int]] = {}
        """The innermost block around a definition that ends in `return` or `raise` -> the definitions' indices."""
        for index, each in enumerate(self.definitions):
            exits = ways.exits(each.statement)
            self.by_exit.setdefault(exits[0] if exits else None, []).append(index)
        self.passed = [self._blocks_passed(each.statement, ways) for each in self.definitions]
        """Whoever comes to a place in one of these blocks has passed the definition."""
        self.other_branches = [ways.other_branches(each.statement) for each in self.definitions]
        self.in_tests = any(isinstance(each.statement, ast.NamedExpr) for each in self.definitions)
        """Whether some may stand in the test of an `elif`, which other branches of the `if` see."""
        self.ends = [each.how in _ENDS for each in self.definitions]
        """Whether no definition above it may reach, wherever it stands or inside of it."""
        self.caught = any(isinstance(each.statement, ast.ExceptHandler) for each in self.definitions)
        """Whether some are exceptions' names, which are gone when their handlers end."""
        self.covering = [_may_cover(ways.branch(each.statement), ways.tree) for each in self.definitions]
        """Whether it stands in a branch of an `if` that has others, or needs none."""
        self.above: dict[ast.If, Above] = {}
        """What reaches an `if`, for all of its arms."""
        self.cut = False
        """Whether there was a use that too many may reach."""

    def _blocks_passed(self, statement: ast.AST, ways: Ways) -> tuple[Span, ...]:
        if isinstance(statement, ARMS):
            return (self._tree.span(statement),)  # behind the arm, another one may have run
        return tuple(ways.blocks_passed(statement))

    def passed_last(self, use: ast.AST, after: int) -> Definition | None:
        """The nearest definition, of those with an index below `after`, that every way to `use` passes."""
        last = [indices[at - 1] for indices in self._around(use) if (at := bisect_left(indices, after))]
        return self.definitions[max(last)] if last else None

    @cached_property
    def _around(self) -> Climb[list[int]]:
        """By node: the indices of the definitions that are passed on the way to it, block by block."""
        by_block: dict[Span, list[int]] = {}
        by_loop: dict[ast.AST, list[int]] = {}
        for index, each in enumerate(self.definitions):
            for block in self.passed[index]:
                by_block.setdefault(block, []).append(index)
            if each.how is How.ITERATE:
                by_loop.setdefault(each.statement, []).append(index)
        tree = self._tree

        def here(node: ast.AST) -> list[int] | None:
            stood = by_block.get(tree.block(node), []) if node in tree.blocks else []
            return sorted([*stood, *by_loop[node]]) if node in by_loop else stood or None

        return Climb(tree, here)


def _may_cover(branch: ast.AST | None, tree: Tree) -> bool:
    parent = tree.parents[branch] if branch is not None else None
    return isinstance(parent, ast.If) and (bool(parent.orelse) or is_tensor_check(parent.test))


def _effect(definition: Definition) -> tuple[int, int]:
    return definition.effect
