"""Which ways lead to a place: the blocks that are passed on the way there, and those that are left before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeGuard

from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.names import Names, last_name, mentions
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, Tree

if TYPE_CHECKING:
    pass

_WHOLE = (*FUNCTIONS, ast.Module, ast.ClassDef)
Span = tuple[int, int]
"""A block, as the numbers of its first node and of what comes after its last."""


class Ways:
    """The blocks of a tree, by structure alone."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self.tree, self._names = tree, names
        self._tops: dict[ast.If, ast.If] = {}
        self.exits = Climb(tree, self._exit)
        """By node: the blocks around it that end in `return` or `raise`, innermost first."""
        self.other_branches = Climb(tree, self._other_branch)
        """By node: the `if`s around it of which another branch is run if its own is not."""

    def always_before(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement stands above `use` in a block that `use` is in (with-blocks looked through)."""
        if self.is_in_loop(use, statement):
            return True
        number = self.tree.number(use)
        return any(start <= number < end for start, end in self.blocks_passed(statement))

    def blocks_passed(self, statement: ast.AST) -> Iterator[Span]:
        """The block that a statement stands in, and those around it that cannot be run without it."""
        tree = self.tree
        each: ast.AST = tree.statement(statement)
        adds = isinstance(each, ast.AugAssign)  # to what is there already
        while True:
            yield tree.block(each)
            parent = tree.parents[each]
            is_last = isinstance(parent, ast.Try) and tree.blocks[each] == "finalbody"
            if (
                isinstance(parent, (ast.With, ast.AsyncWith))
                or is_last
                or (not adds and self._is_entered(parent, each))
            ):
                each = parent
            else:
                return

    def branch(self, node: ast.AST) -> ast.AST | None:
        """What stands directly in a branch of an `if`: a node, or the `with` that it is in."""
        tree = self.tree
        while node in tree.blocks:
            parent = tree.parents[node]
            if isinstance(parent, ast.If):
                return node
            if not isinstance(parent, (ast.With, ast.AsyncWith)):
                return None
            node = parent
        return None

    def covered(self, statement: ast.AST, use: ast.AST, seen: dict[ast.AST, set[str]]) -> bool:
        """Whether, with this definition, all branches of an `if` above `use` have defined the variable."""
        tree = self.tree
        child = self.branch(statement)
        while child is not None:
            parent, block = tree.parents[child], tree.blocks[child]
            assert isinstance(parent, ast.If)
            if block == "body" and is_tensor_check(parent.test):
                return self.always_before(parent, use)
            seen.setdefault(parent, set()).add(block)
            if len(seen[parent]) < 2:
                return False
            if self.always_before(parent, use):
                return True
            child = self.branch(parent)
        return False

    def _exit(self, node: ast.AST) -> Span | None:
        """The block that a node stands in, if that ends in `return` or `raise`: what is left by them is gone."""
        parent, block = self.tree.parents.get(node), self.tree.blocks.get(node)
        if parent is None or block is None or isinstance(parent, _WHOLE):
            return None
        return self.tree.block(node) if isinstance(getattr(parent, block)[-1], (ast.Return, ast.Raise)) else None

    def _other_branch(self, node: ast.AST) -> tuple[ast.If, int, int, int] | None:
        """The `if` whose body a node stands in (of an `elif`, that of the whole chain), and by number where that body
        starts, and the `else` from and to.
        """
        parent = self.tree.parents.get(node)
        if isinstance(parent, ast.If) and parent.orelse and self.tree.blocks.get(node) == "body":
            return (self._top(parent), self.tree.block(node)[0], *self.tree.block(parent.orelse[0]))
        return None

    def _top(self, branch: ast.If) -> ast.If:
        """The `if` that an `elif` belongs to."""
        passed: list[ast.If] = []
        while branch not in self._tops:
            passed.append(branch)
            parent = self.tree.parents[branch]
            if not (isinstance(parent, ast.If) and self.tree.blocks[branch] == "orelse" and len(parent.orelse) == 1):
                self._tops[branch] = branch
                break
            branch = parent
        found = self._tops[branch]
        self._tops.update(dict.fromkeys(passed, found))
        return found

    def is_in_loop(self, use: ast.AST, statement: ast.AST) -> bool:
        """Whether a statement is a loop that a node is in."""
        return isinstance(statement, LOOPS) and self.tree.inside(use, statement)

    def _is_entered(self, loop: ast.AST, statement: ast.AST) -> bool:
        """Whether a loop runs a statement of its body at least once: `for attempt in range(10):`."""
        if not (isinstance(loop, ast.For) and isinstance(statement, ast.stmt)) or statement not in loop.body:
            return False
        over = loop.iter
        if isinstance(over, ast.Call) and len(over.args) == 1 and self._names.qualname(over.func) == "range":
            count = getattr(over.args[0], "value", None)
            some = isinstance(count, int) and count > 0
        else:
            some = isinstance(over, (ast.List, ast.Tuple)) and bool(over.elts)
        until = loop.body[: loop.body.index(statement) + 1] if some else []  # in a `with` it may be left, too
        return some and not any(isinstance(each, (ast.Break, ast.Continue)) for top in until for each in ast.walk(top))


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
