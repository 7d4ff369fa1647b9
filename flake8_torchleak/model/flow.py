"""Which assignments may reach an expression.

The analysis is structural (blocks, branches, loops), not a fixpoint: enough to know that `loss = loss.item()` one
line up replaced the tensor, that an `else` is not reached from its `if`, and that a loop carries values round.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from flake8_torchleak.model.bindings import ARMS, Bindings, Definition, How
from flake8_torchleak.model.names import last_name, mentions
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, Scope, Tree

_MOST_DEFINITIONS = 200
"""Definitions of one variable in one scope that are looked at: keeps generated code linear."""


class Flow(Bindings):
    """Bindings, and which of them reach where."""

    @remembered
    def reaching(self, key: str, use: ast.AST, scope: Scope | None = None) -> list[Definition]:
        """The definitions of `key` that may give it the value seen at `use`, nearest first.

        Looks in the scope of `use`; for a name bound further out, all definitions there may reach.
        """
        if scope is None:
            scope = self.tree.scope(use)
            if key not in self.definitions(scope):
                outer = self.names.scope_of(key.partition(".")[0], use)
                if outer is None or outer is scope:
                    return []
                return self.definitions(outer).get(key, [])[:_MOST_DEFINITIONS]
        everything = [
            each for each in self.definitions(scope).get(key, [])[-_MOST_DEFINITIONS:] if self._seen(each, use)
        ]
        position = _position(use)
        before = [d for d in everything if d.effect <= position]
        found: list[Definition] = []
        seen_branches: dict[ast.AST, set[str]] = {}
        stop: Definition | None = None
        for each in reversed(before):
            if self._exclusive(each.statement, use) or self._left(each.statement, use):
                continue
            found.append(each)
            if self.dominates(each, use) or self._covered(each.statement, use, seen_branches):
                stop = each
                break
        for loop in self.tree.loops(use):
            if stop is not None and self.tree.inside(stop.statement, loop):
                break
            for each in everything:
                if each not in found and each not in before and self.tree.inside(each.statement, loop):
                    found.append(each)
        return found

    def _seen(self, definition: Definition, use: ast.AST) -> bool:
        """Whether the name still stands for it at `use`: an exception's name is gone when its handler ends."""
        handler = definition.statement
        return not isinstance(handler, ast.ExceptHandler) or self.tree.inside(use, handler)

    def dominates(self, definition: Definition, use: ast.AST) -> bool:
        """Whether every way to `use` passes the definition (or enters the loop that makes it)."""
        if definition.how is How.PARAMETER:
            return True
        if isinstance(definition.statement, ARMS):
            return self.tree.inside(use, definition.statement)
        return self.always_before(definition.statement, use)

    def always_before(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement stands above `use` in a block that `use` is in (with-blocks looked through)."""
        tree = self.tree
        if isinstance(statement, LOOPS) and tree.inside(use, statement):
            return True
        while not isinstance(statement, ast.stmt):
            statement = tree.parents[statement]
        while True:
            parent, block = tree.parents.get(statement), tree.blocks.get(statement)
            for child in _chain(tree, use):
                if tree.parents.get(child) is parent and tree.blocks.get(child) == block:
                    return True
            if isinstance(parent, (ast.With, ast.AsyncWith)) or (isinstance(parent, ast.Try) and block == "finalbody"):
                statement = parent
                continue
            return False

    def _exclusive(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the two stand in different branches of one `if`."""
        tree = self.tree
        branch: dict[ast.AST, str] = {}
        for child in _chain(tree, use):
            parent = tree.parents.get(child)
            if isinstance(parent, ast.If) and child in tree.blocks:
                branch[parent] = tree.blocks[child]
        for child in _chain(tree, statement):
            parent = tree.parents.get(child)
            if parent in branch and tree.blocks.get(child, branch[parent]) != branch[parent]:
                return True
        return False

    def _left(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement's block ends in `return` or `raise` before `use` could see it."""
        tree = self.tree
        for child in _chain(tree, statement):
            parent, block = tree.parents.get(child), tree.blocks.get(child)
            if parent is None or block is None or isinstance(parent, (*FUNCTIONS, ast.Module, ast.ClassDef)):
                continue
            if tree.inside(use, parent) and any(u in getattr(parent, block) for u in _chain(tree, use)):
                return False
            last = getattr(parent, block)[-1]
            if isinstance(last, (ast.Return, ast.Raise)):
                return True
        return False

    def _covered(self, statement: ast.AST, use: ast.AST, seen: dict[ast.AST, set[str]]) -> bool:
        """Whether, with this definition, all branches of an `if` above `use` have defined the variable."""
        tree = self.tree
        child: ast.AST = statement
        while True:
            parent = tree.parents.get(child)
            block = tree.blocks.get(child)
            if parent is None or block is None:
                return False
            if isinstance(parent, ast.If) and block == "body" and is_tensor_check(parent.test):
                return self.always_before(parent, use)
            if isinstance(parent, ast.If):
                seen.setdefault(parent, set()).add(block)
                if len(seen[parent]) < 2:
                    return False
                if self.always_before(parent, use):
                    return True
            elif not isinstance(parent, (ast.With, ast.AsyncWith)):
                return False
            child = parent


def is_tensor_check(test: ast.expr) -> TypeGuard[ast.Call]:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`, `hasattr(x, "item")`: true for every tensor."""
    if not isinstance(test, ast.Call):
        return False
    name = last_name(test.func)
    if name == "is_tensor":
        return True
    if name == "isinstance" and len(test.args) == 2:
        return mentions(test.args[1], "Tensor")
    return name == "hasattr" and len(test.args) == 2 and getattr(test.args[1], "value", "") in ("item", "detach")


def _chain(tree: Tree, node: ast.AST) -> list[ast.AST]:
    return [node, *tree.ancestors(node)]


def _position(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, (ast.Module, ast.arg, ast.comprehension)) and not hasattr(node, "lineno"):
        return (0, 0)
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]
