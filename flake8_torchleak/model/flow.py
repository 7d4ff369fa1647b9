"""Which assignments may reach an expression.

The analysis is structural (blocks, branches, loops), not a fixpoint: enough to know that `loss = loss.item()` one
line up replaced the tensor, that an `else` is not reached from its `if`, and that a loop carries values round.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeGuard

from flake8_torchleak.model.bindings import ARMS, Bindings, Definition, How, Mutation
from flake8_torchleak.model.climb import Climb
from flake8_torchleak.model.names import Names, last_name, mentions
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tree import FUNCTIONS, LOOPS, Loop, Scope, Tree

if TYPE_CHECKING:
    from flake8_torchleak.model.handing import Handing

_ENDS = frozenset({How.PARAMETER, How.ITERATE})
_WHOLE = (*FUNCTIONS, ast.Module, ast.ClassDef)
MOST_DEFINITIONS = 200
"""Definitions of one variable that are looked at for one use, the nearest first; and as many that a loop brings."""

Round = Loop | ast.comprehension
"""What runs something again and again."""
Span = tuple[int, int]
"""A block, as the numbers of its first node and of what comes after its last."""
Above = tuple[list[Definition], "Definition | None"]
"""Definitions that may reach a place from above, nearest first, and the one above which none is looked for."""


class Track:
    """The definitions of one variable in one scope, in the order in which they take effect."""

    def __init__(self, definitions: list[Definition], flow: Flow) -> None:
        self._tree = flow.tree
        self.definitions = sorted(definitions, key=_effect)
        self.effects = [each.effect for each in self.definitions]
        self.numbers = [flow.tree.number(each.statement) for each in self.definitions]
        self.by_exit: dict[Span | None, list[int]] = {}
        """The innermost block around a definition that ends in `return` or `raise` -> the definitions' indices."""
        for index, each in enumerate(self.definitions):
            exits = flow.exits(each.statement)
            self.by_exit.setdefault(exits[0] if exits else None, []).append(index)
        self.passed = [self._blocks_passed(each.statement, flow) for each in self.definitions]
        """Whoever comes to a place in one of these blocks has passed the definition."""
        self.other_branches = [flow.other_branches(each.statement) for each in self.definitions]
        self.in_tests = any(isinstance(each.statement, ast.NamedExpr) for each in self.definitions)
        """Whether some may stand in the test of an `elif`, which other branches of the `if` see."""
        self.ends = [each.how in _ENDS for each in self.definitions]
        """Whether no definition above it may reach, wherever it stands or inside of it."""
        self.caught = any(isinstance(each.statement, ast.ExceptHandler) for each in self.definitions)
        """Whether some are exceptions' names, which are gone when their handlers end."""
        self.covering = [_may_cover(flow.branch(each.statement), flow.tree) for each in self.definitions]
        """Whether it stands in a branch of an `if` that has others, or needs none."""
        self.above: dict[ast.If, Above] = {}
        """What reaches an `if`, for all of its arms."""
        self.cut = False
        """Whether there was a use that too many may reach."""

    def _blocks_passed(self, statement: ast.AST, flow: Flow) -> tuple[Span, ...]:
        if isinstance(statement, ARMS):
            return (self._tree.span(statement),)  # behind the arm, another one may have run
        return tuple(flow.blocks_passed(statement))

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


class Flow(Bindings):
    """Bindings, and which of them reach where."""

    def __init__(self, tree: Tree, names: Names) -> None:
        super().__init__(tree, names)
        self._tracks: dict[tuple[Scope, str], Track] = {}
        self._tops: dict[ast.If, ast.If] = {}
        self.exits = Climb(tree, self._exit)
        self.other_branches = Climb(tree, self._other_branch)
        self.cut: dict[ast.AST, str] = {}
        """What was not looked at in full, a function, class or module -> why, in words for a message."""
        self.behind: dict[ast.AST, str] = {}
        """The same, where only what it leads to was not."""
        self.handing: Handing | None = None
        """What calls change of what they hand over, once the classes are known whose methods they may run."""

    def mutations(self, scope: Scope) -> dict[str, list[Mutation]]:
        """key -> changes in place of that variable in this scope, those of its calls included, in source order."""
        return self.own_mutations(scope) if self.handing is None else self.handing.mutations(scope)

    def loops(self, change: Mutation) -> list[Round]:
        """The loops around a change, innermost first, those included that a helper makes it in, or is called in."""
        return [
            each for node in (*change.within, change.node) for each in (*self._generators(node), *self.tree.loops(node))
        ]

    def _generators(self, node: ast.AST) -> list[ast.comprehension]:
        """The generators of the comprehensions of whose elements an expression is a part, innermost first."""
        found: list[ast.comprehension] = []
        while isinstance(node, ast.expr):
            node = self.tree.parents[node]
            if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
                found += reversed(node.generators)
        return found

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
                found = self.definitions(outer).get(key, [])
                if len(found) > MOST_DEFINITIONS:
                    self._leave_out(outer, key)
                return found[:MOST_DEFINITIONS]
        track = self._track(scope, key)
        if track is None:
            return []
        after = bisect_right(track.effects, _position(use))
        found, stop = self._above(track, use, after)
        if track.cut:
            self._leave_out(scope, key)
        brought: list[Definition] = []
        for loop in self.tree.loops(use):
            if stop is not None and self.tree.inside(stop.statement, loop):
                break
            end = bisect_left(track.numbers, self.tree.span(loop)[1])
            brought += track.definitions[max(after, end - MOST_DEFINITIONS) : end]
            if end - after > MOST_DEFINITIONS:
                self._leave_out(scope, key)
            after = max(after, end)
        brought = brought[:MOST_DEFINITIONS]
        return found + ([each for each in brought if self._seen(each, use)] if track.caught else brought)

    def _above(self, track: Track, use: ast.AST, after: int) -> Above:
        """Of the first `after` definitions those that may reach `use`, nearest first, and the one that ends the search.

        What reaches an `if` reaches all of its arms: it is looked for once, however many there are.
        """
        branch = self._jumped(track, use, after)
        if branch is not None:
            found = track.above.get(branch)
            if found is None:
                before = bisect_left(track.numbers, self.tree.number(branch))
                found = track.above[branch] = self._above(track, branch, before)
            return found
        number = self.tree.number(use)
        reaching: list[Definition] = []
        seen_branches: dict[ast.AST, set[str]] = {}
        for index in self._before(track, use, after):
            each = track.definitions[index]
            if track.caught and not self._seen(each, use):
                continue
            if len(reaching) == MOST_DEFINITIONS:
                track.cut = True
                stop = track.passed_last(use, after)
                return (reaching if stop is None else [*reaching, stop]), stop
            reaching.append(each)
            for start, end in track.passed[index]:
                if start <= number < end:
                    return reaching, each
            if (track.ends[index] and (each.how is How.PARAMETER or self._is_in_loop(use, each.statement))) or (
                track.covering[index] and self._covered(each.statement, use, seen_branches)
            ):
                return reaching, each
        return reaching, None

    def _jumped(self, track: Track, use: ast.AST, after: int) -> ast.If | None:
        """The `if` with `use` in one branch and the nearest definition in another, if no test binds the variable."""
        nearest = -1
        for span in (None, *self.exits(use)):
            group = track.by_exit.get(span, ())
            at = bisect_left(group, after)
            nearest = max(nearest, group[at - 1] if at else -1)
        if nearest < 0 or track.in_tests:
            return None
        number = self.tree.number(use)
        return next((top for top, _, start, end in track.other_branches[nearest] if start <= number < end), None)

    def _leave_out(self, scope: Scope, key: str) -> None:
        self.cut.setdefault(scope, f"more than {MOST_DEFINITIONS} values may reach a use of `{key}`")

    def _track(self, scope: Scope, key: str) -> Track | None:
        found = self._tracks.get((scope, key))
        if found is None:
            definitions = self.definitions(scope).get(key)
            if definitions is None:
                return None
            found = self._tracks[scope, key] = Track(definitions, self)
        return found

    def _before(self, track: Track, use: ast.AST, after: int) -> Iterator[int]:
        """The indices of the definitions above `use`, nearest first, without those from which no way leads down to it.

        Whole groups are left out at once: what stands in a block that was left, and in the other branch of an `if`.
        """
        number = self.tree.number(use)
        groups = [g for span in (None, *self.exits(use)) if (g := track.by_exit.get(span)) is not None]
        ends = [bisect_left(group, after) for group in groups]
        while any(ends):
            of = 0
            if len(groups) > 1:
                of = max((group[end - 1], i) for i, (group, end) in enumerate(zip(groups, ends, strict=True)) if end)[1]
            ends[of] -= 1
            nearest = groups[of][ends[of]]
            for top, body, start, end in track.other_branches[nearest]:
                if start <= number < end:
                    first = bisect_left(track.numbers, body if track.in_tests else self.tree.number(top))
                    ends = [min(e, bisect_left(group, first)) for e, group in zip(ends, groups, strict=True)]
                    break
            else:
                yield nearest

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

    def _seen(self, definition: Definition, use: ast.AST) -> bool:
        """Whether the name still stands for it at `use`: an exception's name is gone when its handler ends."""
        handler = definition.statement
        return not isinstance(handler, ast.ExceptHandler) or self.tree.inside(use, handler)

    def dominates(self, definition: Definition, use: ast.AST) -> bool:
        """Whether every way to `use` passes the definition (or enters the loop that makes it)."""
        return self.always_before(definition.statement, use)

    def always_before(self, statement: ast.AST, use: ast.AST) -> bool:
        """Whether the statement stands above `use` in a block that `use` is in (with-blocks looked through)."""
        if self._is_in_loop(use, statement):
            return True
        number = self.tree.number(use)
        return any(start <= number < end for start, end in self.blocks_passed(statement))

    def _is_in_loop(self, use: ast.AST, statement: ast.AST) -> bool:
        return isinstance(statement, LOOPS) and self.tree.inside(use, statement)

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

    def _is_entered(self, loop: ast.AST, statement: ast.AST) -> bool:
        """Whether a loop runs a statement of its body at least once: `for attempt in range(10):`."""
        if not (isinstance(loop, ast.For) and isinstance(statement, ast.stmt)) or statement not in loop.body:
            return False
        over = loop.iter
        if isinstance(over, ast.Call) and len(over.args) == 1 and self.names.qualname(over.func) == "range":
            count = getattr(over.args[0], "value", None)
            some = isinstance(count, int) and count > 0
        else:
            some = isinstance(over, (ast.List, ast.Tuple)) and bool(over.elts)
        until = loop.body[: loop.body.index(statement) + 1] if some else []  # in a `with` it may be left, too
        return some and not any(isinstance(each, (ast.Break, ast.Continue)) for top in until for each in ast.walk(top))

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

    def _covered(self, statement: ast.AST, use: ast.AST, seen: dict[ast.AST, set[str]]) -> bool:
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


def _may_cover(branch: ast.AST | None, tree: Tree) -> bool:
    parent = tree.parents[branch] if branch is not None else None
    return isinstance(parent, ast.If) and (bool(parent.orelse) or is_tensor_check(parent.test))


def _effect(definition: Definition) -> tuple[int, int]:
    return definition.effect


def _position(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, (ast.Module, ast.arg, ast.comprehension)) and not hasattr(node, "lineno"):
        return (0, 0)
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]
