"""Which assignments may reach an expression.

The analysis is structural (blocks, branches, loops), not a fixpoint: enough to know that `loss = loss.item()` one
line up replaced the tensor, that an `else` is not reached from its `if`, and that a loop carries values round.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flake8_torchleak.model.bindings import Bindings, Definition, How, Mutation
from flake8_torchleak.model.names import Names
from flake8_torchleak.model.remember import remembered
from flake8_torchleak.model.tracks import Above, Track
from flake8_torchleak.model.tree import Loop, Scope, Tree
from flake8_torchleak.model.ways import Ways

if TYPE_CHECKING:
    from flake8_torchleak.model.handing import Handing

MOST_DEFINITIONS = 200
"""Definitions of one variable that are looked at for one use, the nearest first; and as many that a loop brings."""

Round = Loop | ast.comprehension
"""What runs something again and again."""


class Flow(Bindings):
    """Bindings, and which of them reach where."""

    def __init__(self, tree: Tree, names: Names, ways: Ways) -> None:
        super().__init__(tree, names)
        self._tracks: dict[tuple[Scope, str], Track] = {}
        self.ways = ways
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
            if (track.ends[index] and (each.how is How.PARAMETER or self.ways.is_in_loop(use, each.statement))) or (
                track.covering[index] and self.ways.covered(each.statement, use, seen_branches)
            ):
                return reaching, each
        return reaching, None

    def _jumped(self, track: Track, use: ast.AST, after: int) -> ast.If | None:
        """The `if` with `use` in one branch and the nearest definition in another, if no test binds the variable."""
        nearest = -1
        for span in (None, *self.ways.exits(use)):
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
            found = self._tracks[scope, key] = Track(definitions, self.ways)
        return found

    def _before(self, track: Track, use: ast.AST, after: int) -> Iterator[int]:
        """The indices of the definitions above `use`, nearest first, without those from which no way leads down to it.

        Whole groups are left out at once: what stands in a block that was left, and in the other branch of an `if`.
        """
        number = self.tree.number(use)
        groups = [g for span in (None, *self.ways.exits(use)) if (g := track.by_exit.get(span)) is not None]
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

    def dominates(self, definition: Definition, use: ast.AST) -> bool:
        """Whether every way to `use` passes the definition (or enters the loop that makes it)."""
        return self.ways.always_before(definition.statement, use)

    def _seen(self, definition: Definition, use: ast.AST) -> bool:
        """Whether the name still stands for it at `use`: an exception's name is gone when its handler ends."""
        handler = definition.statement
        return not isinstance(handler, ast.ExceptHandler) or self.tree.inside(use, handler)


def _position(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, (ast.Module, ast.arg, ast.comprehension)) and not hasattr(node, "lineno"):
        return (0, 0)
    return (node.lineno, node.col_offset)  # type: ignore[attr-defined]
