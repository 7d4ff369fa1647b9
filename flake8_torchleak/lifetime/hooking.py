"""Hooks that a program registers on its networks, and what removes them."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.frames import HOOKED, Loop
from flake8_torchleak.lifetime.outliving import outlived
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import HANDLE, NONE, Atom, Kind, Value


class Hooks(Part):
    """Follows hooks: one more in each step, if the network is older and nothing removes it."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._again: dict[ast.AST, bool] = {}
        """Calls that register a hook in a step -> whether the network is older than the step, at least once."""
        self._first: dict[ast.AST, list[Loop]] = {}
        """The same, in the first iteration of loops."""

    def registered(self, network: Atom, args: list[Value], node: ast.expr) -> Value:
        """A hook is registered on a network: what that gives, to remove it with."""
        run = self.run
        for each in args:
            run.functions.hand_over(each, node, HOOKED)
        handle = Atom(Kind.UNKNOWN, node, made=HANDLE, born=run.tick(), since=run.clock)
        if not any(loop.again for loop in run.loops):
            self._first.setdefault(node, []).extend(run.loops)
            return (handle,)
        # Who asks first may ask whether it is registered.
        asked = run.tests or any(frame.tests for frame in run.frames if frame.loops)
        loop = outlived(run, [network], chained=False) if network.site is not None and not asked else None
        self._again[node] = self._again.get(node, False) or loop is not None
        if loop is not None:
            run.keeper.add("hook", node, None, loop, [network], handle)
        return (handle,)

    def removed(self, handle: Atom) -> Value:
        """The handle of a hook removes it."""
        self.run.seen.unhooked.add(handle.site)
        return NONE

    def is_once(self, node: ast.AST) -> bool:
        """Whether a call in a step was followed, and registers a hook once, under a condition, or on new networks."""
        if node in self._again:
            return not self._again[node]
        return any(loop.step and not loop.small for loop in self._first.get(node, ()))


def is_hooking(name: str) -> bool:
    """Whether a method of a network registers a hook that its calls run."""
    return name.startswith("register_") and name.endswith("_hook")
