"""Where the state of a recurrent network is left for the next step: what it is bound to behind the call."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import Graph, Site, Value

_READS = (ast.Name, ast.Attribute, ast.Subscript)


class Carriers(Part):
    """Remembers what is bound, once a recurrent network was handed a state."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.wanted = False
        self._known: dict[Site, dict[str, ast.AST]] = {}
        """What made something -> what it was put into, as text, and where; the last one last."""

    def bound(self, value: Value, node: ast.AST, target: ast.expr) -> None:
        """Something is bound that the next step may find: no variable of a call that is over by then."""
        run = self.run
        if not self.wanted or self._is_over(target):
            return
        at = len(run.frames) - 1
        while at and not run.frames[at].place.is_own:
            at -= 1
        where = node if at == len(run.frames) - 1 else run.frames[at + 1].call
        shown = ast.unparse(target)
        for atom, _ in run.within(value):
            if atom.graph is Graph.YES and where is not None:
                known = self._known.setdefault(atom.site, {})
                known.pop(shown, None)
                known[shown] = where

    def _is_over(self, target: ast.expr) -> bool:
        frame = self.run.frame
        if not isinstance(target, ast.Name) or frame.loops < len(self.run.loops):
            return False
        return frame.scope is not None and target.id in frame.scope.own

    def at(self, site: Site, call: ast.AST) -> ast.AST | None:
        """Where the state that a call is handed was left for it: in what the call reads, or else where it was last.

        None if that is not known, or where the call itself is.
        """
        known = self._known.get(site, {})
        read = [ast.unparse(each) for each in walk(call) if isinstance(each, _READS)]
        found = next((known[each] for each in read if each in known), None) or next(reversed(known.values()), None)
        return None if found is None or any(each is call for each in walk(found)) else found
