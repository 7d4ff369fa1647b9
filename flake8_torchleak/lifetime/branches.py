"""What one of several ways does: branches of `if`, `try` and `match`, and what is left of each behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from flake8_torchleak.lifetime.deciding import decided, ends_at, is_few, limits
from flake8_torchleak.lifetime.journal import Changes, Flow
from flake8_torchleak.lifetime.narrowing import narrow
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import ANYTHING, CAUGHT, Atom, Graph, Kind, Value, constant, objects

_Arm = tuple[ast.expr, bool, list[ast.stmt], tuple[ast.expr, ...]]
"""A condition, whether it holds or not, what is done then, and the conditions before, which do not hold."""
_MOST_BEFORE = 8
"""Conditions before that an arm remembers."""
_ORDER = (Flow.CONTINUE, Flow.BREAK, Flow.RETURN, Flow.RAISE)
"""Of several ways that all leave a block: the one that leaves least counts for all."""


def _is_one_mode(arms: list[tuple[ast.expr, list[ast.stmt]]]) -> bool:
    """Whether a chain of `if` asks which of some modes it is, by their names, and binds a variable in each.

    `if kind == "a": out = net(x)`, `elif kind == "b": ...`: in another mode nothing would be bound, and the variable
    that is read behind it is no earlier iteration's.
    """
    if len(arms) < 2 or not all(_names_a_mode(test) for test, _ in arms):
        return False
    first, *rest = ({each.id for each in _bound(body)} for _, body in arms)
    return bool(first.intersection(*rest))


def _names_a_mode(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(map(_names_a_mode, test.values))
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Eq, ast.In)):
        return False
    given = (test.left, *test.comparators)
    return any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in given)


def _bound(body: list[ast.stmt]) -> Iterator[ast.Name]:
    for each in walk(ast.Module(body, [])):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each


class Branches(Part):
    """Executes each way from the same state, and goes on with what they leave."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._left_out: set[ast.stmt] = set()
        """Of blocks that were not done where others were done again: the first statements."""

    def if_(self, node: ast.If) -> Flow:
        """An `if` with all its `elif`: a chain of any length, without recursion."""
        arms: list[_Arm] = []
        failed: tuple[ast.expr, ...] = ()
        at: ast.If | None = node
        may_skip = True
        while at is not None:
            self.run.told = False
            known = decided(self.run, at.test)
            if known is not None and self.run.told and not isinstance(at.test, ast.BoolOp):
                self._leave_out(at.orelse if known else at.body)
            if known is not False:
                arms.append((at.test, True, at.body, failed))
            if known is True:
                may_skip = False
                break
            before, failed = failed, (*failed, at.test)[-_MOST_BEFORE:]
            if len(at.orelse) == 1 and isinstance(at.orelse[0], ast.If):
                at = at.orelse[0]
                continue
            if at.orelse:
                arms.append((at.test, False, at.orelse, before))
                may_skip = False
            at = None
        if not arms:
            return Flow.NEXT
        if len(arms) == 1 and not may_skip:
            return self.run.statements.block(arms[0][2])
        ways = [self._arm(*arm) for arm in arms]
        may_skip = may_skip and not _is_one_mode([(test, body) for test, _, body, _ in arms])
        if may_skip:
            ways.append(self._skipped(failed))
        first = arms[0][0]
        if len(ways) != 2 or not self.run.recalling.is_asked_again(first):
            return self.one_of(ways, may_skip=False)
        mark = self.run.journal.mark
        ended = self._ended(ways, may_skip=False)
        if all(flow is Flow.NEXT for flow, _ in ended):
            self.run.recalling.remember(first, self.run.journal.before(mark), *(changes for _, changes in ended))
        return _flow(ended)

    def _leave_out(self, body: list[ast.stmt]) -> None:
        """A block is not done in this step, nor in any other but the first: what it stores is stored once."""
        if not body or body[0] in self._left_out or not any(loop.again for loop in self.run.loops):
            return
        self._left_out.add(body[0])
        for each in walk(ast.Module(body, [])):
            if isinstance(each, (ast.stmt, ast.Call)):
                self.run.keeper.contain(each)

    def _know(self, test: ast.expr, holds: bool) -> None:
        """A way is taken where a condition holds, or does not."""
        narrow(self.run, test, holds)
        self.run.recalling.recall(test, holds)

    def _skipped(self, failed: tuple[ast.expr, ...]) -> Callable[[], Flow]:
        def execute() -> Flow:
            for each in failed:
                self._know(each, False)
            return Flow.NEXT

        return execute

    def _arm(
        self, test: ast.expr, holds: bool, body: list[ast.stmt], failed: tuple[ast.expr, ...]
    ) -> Callable[[], Flow]:
        def execute() -> Flow:
            run = self.run
            for each in failed:
                self._know(each, False)
            run.guards.append(limits(run, test, holds))
            run.tests.append(test)
            self._know(test, holds)
            try:
                flow = run.statements.block(body)
                count = ends_at(run, test, holds, run.loops[-1]) if flow is Flow.BREAK and run.loops else None
                if count is not None and is_few(run, count):
                    run.loops[-1].cut_short = True
                elif count is not None:
                    run.loops[-1].counts = True
                return flow
            finally:
                run.guards.pop()
                run.tests.pop()

        return execute

    def try_(self, node: ast.Try) -> Flow:
        """A `try`: its body is left somewhere, or runs to its end."""
        run = self.run
        mark = run.journal.mark
        flow = run.statements.block(node.body)
        if flow is Flow.NEXT:
            flow = run.statements.block(node.orelse)
        arms = [self._handler(handler) for handler in node.handlers]
        if flow is not Flow.NEXT and arms:
            self.leave(flow, run.journal.changes(mark))
        if arms:
            ended = self.one_of(arms, may_skip=flow is Flow.NEXT)
            flow = ended if flow is not Flow.NEXT else Flow.NEXT
        last = run.statements.block(node.finalbody)
        return last if last is not Flow.NEXT else flow

    def _handler(self, handler: ast.ExceptHandler) -> Callable[[], Flow]:
        def execute() -> Flow:
            run = self.run
            if handler.type is not None:
                run.evaluate(handler.type)
            born = run.tick()
            error: Value = (Atom(Kind.UNKNOWN, handler, Graph.NO, CAUGHT, born=born, since=born),)
            if handler.name is not None:
                run.names.bind(handler.name, error)
            run.caught.append(error)
            try:
                return run.statements.block(handler.body)
            finally:
                run.caught.pop()

        return execute

    def match(self, node: ast.Match) -> Flow:
        """A `match`, of whose cases any may be the one."""
        subject = self.run.evaluate(node.subject)
        arms = [self._case(case, subject) for case in node.cases]
        last = node.cases[-1]
        open_end = last.guard is not None or not (
            isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        )
        return self.one_of(arms, may_skip=open_end)

    def _case(self, case: ast.match_case, subject: Value) -> Callable[[], Flow]:
        def execute() -> Flow:
            self._capture(case.pattern, subject)
            if case.guard is not None:
                self.run.evaluate(case.guard)
            return self.run.statements.block(case.body)

        return execute

    def _capture(self, pattern: ast.pattern, value: Value) -> None:
        """Bind what a pattern captures."""
        run = self.run
        if isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self._capture(pattern.pattern, value)
            if pattern.name is not None:
                run.names.bind(pattern.name, value)
        elif isinstance(pattern, ast.MatchOr):
            for each in pattern.patterns:
                self._capture(each, value)
        elif isinstance(pattern, ast.MatchSequence):
            parts = run.elements.unpacked(value, len(pattern.patterns), ast.Name("_", ast.Load()))
            for each, part in zip(pattern.patterns, parts, strict=True):
                self._capture(each, part)
        elif isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                run.names.bind(pattern.name, value)
        elif isinstance(pattern, ast.MatchMapping):
            for key, each in zip(pattern.keys, pattern.patterns, strict=True):
                name = constant(run.evaluate(key))
                parts = [run.elements.entry(made, name, key) for made in objects(value)]
                self._capture(each, parts[0] if parts else ANYTHING)
            if pattern.rest is not None:
                run.names.bind(pattern.rest, value)
        elif isinstance(pattern, ast.MatchClass):
            for name, each in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
                self._capture(each, run.attributes.value(value, name, ast.Name("_", ast.Load())))
            for each in pattern.patterns:
                self._capture(each, ANYTHING)

    def one_of(self, arms: list[Callable[[], Flow]], may_skip: bool) -> Flow:
        """Execute each of several ways from here, of which one is taken; go on with what they leave."""
        ended = self._ended(arms, may_skip)
        return Flow.NEXT if may_skip else _flow(ended)

    def _ended(self, arms: list[Callable[[], Flow]], may_skip: bool) -> list[tuple[Flow, Changes]]:
        """Execute them; how each ended, and what it set."""
        run = self.run
        marks: list[int] = []
        spans: list[tuple[int, int]] = []
        before = run.grad_off
        modes = [before] if may_skip else []

        def marked(arm: Callable[[], Flow]) -> Callable[[], Flow]:
            def execute() -> Flow:
                marks.append(run.keeper.mark)
                run.grad_off = before
                flow = arm()
                if flow is Flow.NEXT:
                    modes.append(run.grad_off)
                spans.append((marks[-1], run.keeper.mark))
                return flow

            return execute

        ended = run.journal.alternatives([marked(arm) for arm in arms], may_skip)
        run.grad_off = min(modes, default=before)
        for (flow, changes), span in zip(ended, spans, strict=True):
            self.leave(flow, changes)
            if flow in (Flow.BREAK, Flow.RETURN, Flow.RAISE):
                run.keeper.once(*span, flow)
        return ended

    def leave(self, flow: Flow, changes: Changes) -> None:
        """What a way that leaves the block has set counts where it leads to."""
        run = self.run
        if flow is Flow.RETURN:
            run.frame.exits.append(changes)
        elif flow in (Flow.BREAK, Flow.CONTINUE) and len(run.loops) > run.frame.loops:
            loop = run.loops[-1]
            (loop.breaks if flow is Flow.BREAK else loop.continues).append(changes)
            if flow is Flow.CONTINUE:
                loop.continued = run.keeper.mark


def _flow(ended: list[tuple[Flow, Changes]]) -> Flow:
    """How a statement ends of which one way is taken."""
    flows = [flow for flow, _ in ended]
    return Flow.NEXT if Flow.NEXT in flows else min(flows, key=_ORDER.index)
