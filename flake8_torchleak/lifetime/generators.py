"""Generators that are sent to: they wait in a loop, and go on there with each thing that they get."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flake8_torchleak.lifetime.frames import Frame, Function
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import ANYTHING, NONE, Obj, Value

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, eq=False)
class Waiting:
    """A generator that stopped in a loop. frame: its variables as they are then."""

    frame: Frame
    loop: ast.For | ast.AsyncFor | ast.While


class Generators(Part):
    """Begins such generators, and goes on with them."""

    def begin(self, made: Function, frame: Frame) -> bool:
        """Execute what stands before the loop that waits; False if the function has no such loop."""
        assert made.node is not None
        body = made.node.body if not isinstance(made.node, ast.Lambda) else []
        at = next((at for at, each in enumerate(body) if isinstance(each, _LOOPS) and _receives(each)), None)
        if at is None or frame.yields is None:
            return False
        self.run.statements.block(body[:at])
        loop = body[at]
        assert isinstance(loop, _LOOPS)
        frame.yields.cls = Waiting(frame, loop)
        return True

    def send(self, made: Obj, value: Value, node: ast.expr) -> Value:
        """`made.send(value)`: once through its loop; what it yields then."""
        run, waiting = self.run, made.cls
        if not isinstance(waiting, Waiting):
            return NONE
        frame, loop = waiting.frame, waiting.loop
        if run.is_too_deep or any(each.variables is frame.variables for each in run.frames):
            run.escape(value)
            return ANYTHING
        resumed = Frame(frame.variables, frame.place, run.clock, frame.scope, frame.function, node, len(run.loops))
        resumed.yields, resumed.sent, resumed.given = made, value, (value,)
        run.frames.append(resumed)
        try:
            if isinstance(loop, ast.While):
                run.evaluate(loop.test)
            else:
                run.assignments.assign(loop.target, run.elements.of(run.evaluate(loop.iter), loop.iter), loop)
            run.statements.block(loop.body)
        finally:
            run.frames.pop()
        return run.elements.all_of(made) or NONE


@of_node
def _receives(loop: ast.stmt) -> bool:
    """Whether what a `yield` in it gives is used."""
    dropped = {each.value for each in walk(loop) if isinstance(each, ast.Expr)}
    return any(isinstance(each, ast.Yield) and each not in dropped for each in walk(loop))
