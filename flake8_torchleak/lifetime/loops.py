"""Loops and comprehensions: once over, and once more where each iteration is a step, with what the one before left."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable

from flake8_torchleak.lifetime.deciding import decided, filled
from flake8_torchleak.lifetime.frames import BATCHES, Loop
from flake8_torchleak.lifetime.inner import finished
from flake8_torchleak.lifetime.journal import Changes, Flow
from flake8_torchleak.lifetime.nodes import of_node, walk
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import ELEMENTS, LOADING, PLAIN, Atom, Graph, Kind, Obj, Value, constant, objects
from flake8_torchleak.model.tensors import gives_one_batch

_LEAVING = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
"""What may leave something behind when a comprehension is gone through."""
_FEW = 10
"""Iterations that make a loop short."""
_MANY = 1000
"""Iterations from which on a loop is taken for a training, and for no part of a step: chosen, not measured."""


class Loops(Part):
    """Executes what is done again and again."""

    def over(self, node: ast.For | ast.AsyncFor) -> Flow:
        """A `for` loop."""
        run = self.run
        value = run.evaluate(node.iter)
        told: dict[Hashable, frozenset[object]] = {}

        def iteration(loop: Loop) -> Flow:
            element = self._element(value, loop, node.iter)
            run.assignments.assign(node.target, element, node)
            self._vary(node.target, loop)
            parameters = run.needing.gone_over(element, node.iter)
            run.needing.begin(parameters)
            flow = run.statements.block(node.body)
            told.update(run.needing.end(parameters, loop))
            return flow

        flow = self._repeat(node, iteration, value)
        run.needing.all_told(told)
        return flow if flow is not Flow.NEXT else run.statements.block(node.orelse)

    def whiling(self, node: ast.While) -> Flow:
        """A `while` loop."""

        def iteration(loop: Loop) -> Flow:
            loop.fills = filled(self.run, node.test)
            self.run.evaluate(node.test)
            return self.run.statements.block(node.body)

        flow = self._repeat(node, iteration, PLAIN)
        return flow if flow is not Flow.NEXT else self.run.statements.block(node.orelse)

    def _element(self, value: Value, loop: Loop, node: ast.expr) -> Value:
        run = self.run
        found = run.elements.of(value, node)
        if any(made.stepwise for made in objects(value)):  # what it gives is made in this iteration
            found = tuple(_anew(atom, run.tick()) for atom in found)
        own = frozenset({loop.ident})
        elements = [atom.kind for atom, _ in run.within(found)]
        loop.of_networks = loop.of_networks or any(each in (Kind.NETWORK, Kind.OPTIMIZER) for each in elements)
        return tuple(atom.varying(own) for atom in found)

    def _vary(self, target: ast.expr, loop: Loop) -> None:
        """What a loop binds is another thing in each iteration."""
        fields, own = self.run.frame.variables.fields, frozenset({loop.ident})
        for node in walk(target):
            if isinstance(node, ast.Name):
                value = fields.get(node.id, ())
                if not all(own <= atom.vary for atom in value):
                    self.run.journal.put(fields, node.id, tuple(atom.varying(own) for atom in value))

    def repeat(self, node: ast.AST, iteration: Callable[[Loop], Flow], why: str) -> None:
        """Do something as a step, again and again, though no loop of the program is seen."""
        self._repeat(node, iteration, PLAIN, why)

    def _repeat(
        self, node: ast.AST, iteration: Callable[[Loop], Flow], over: Value, why: str = "", alike: bool = False
    ) -> Flow:
        """Go through a loop. alike: whether its iterations leave nothing to those behind them."""
        run = self.run
        run.loop_count += 1
        loop = Loop(run.loop_count, node, run.tick(), step=why or _step(over), small=_is_small(over), whole=run.whole)
        if loop.step:
            run.spur()
        loop.depth, loop.tests = len(run.frames), len(run.tests)
        inner = len(run.loops) > run.frame.loops  # in a loop of the same function
        loop.of_round = inner and bool(over) and all(each.kind is Kind.TENSOR for each in over)
        loop.is_apart = run.is_program or any(map(_is_long, objects(over)))
        first = any(not outer.last for outer in run.loops)  # a loop around will come here once more
        run.loops.append(loop)
        mark, kept, known = run.journal.mark, run.keeper.mark, run.seen.surprises
        try:
            flow = self._once(loop, iteration)
            if alike and not loop.step:
                return flow
            before = self._age(loop, mark)
            if first:
                for outer in run.loops if loop.step or loop.unfinished else ():
                    outer.unfinished = True
            elif flow in (Flow.NEXT, Flow.CONTINUE) and ((loop.step and not loop.small) or loop.unfinished):
                counted = loop.counted and bool(loop.step)
                if run.seen.surprises > known or counted:  # what it is made of was not known to have history
                    begun, loop.last = run.journal.mark, counted
                    self._once(loop, iteration)
                    run.journal.beside(self._age(loop, begun))
                loop.last, loop.again = True, bool(loop.step) and not loop.small
                second = run.journal.mark
                flow = self._once(loop, iteration)
                loop.came_round = run.journal.came_round(second, loop.ident)
                run.journal.beside(self._age(loop, second))
                before = run.journal.before(mark)
            run.journal.beside(before, () if loop.breaks or loop.continues else loop.rewritten)
        finally:
            run.loops.pop()
        if flow in (Flow.BREAK, Flow.RETURN, Flow.RAISE):
            run.keeper.passed_once(loop)
        finished(run, loop)
        run.keeper.close(loop, kept)
        if flow in (Flow.BREAK, Flow.RETURN, Flow.RAISE):
            run.keeper.once(kept, run.keeper.mark, Flow.RAISE if flow is Flow.BREAK else flow)
        run.journal.add(loop.breaks)
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and not loop.breaks
        if flow is Flow.RETURN and endless:
            return Flow.RETURN
        return Flow.NEXT

    def _age(self, loop: Loop, mark: int) -> Changes:
        run = self.run
        run.look(run.journal.mark - mark)
        return run.journal.age(mark, loop.iteration, loop.ident, run.seen.histories)

    def _once(self, loop: Loop, iteration: Callable[[Loop], Flow]) -> Flow:
        loop.iteration = self.run.tick()
        loop.continues = []
        flow = iteration(loop)
        self.run.journal.add(loop.continues)
        if flow is Flow.BREAK and loop.continues:
            self.run.keeper.once(loop.continued, self.run.keeper.mark, Flow.BREAK)
            return Flow.NEXT
        return flow

    # -- comprehensions -------------------------------------------------------------------------------------

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, kind: str) -> Value:
        """A comprehension: loops of its own that put what they make into a new container."""
        run = self.run
        made = run.new(kind, node)
        # Its variables are its own; other names are not hidden for longer than it runs.
        fields = run.frame.variables.fields
        hidden = {
            each.id: fields.get(each.id, ())
            for generator in node.generators
            for each in walk(generator.target)
            if isinstance(each, ast.Name)
        }
        self._generate(node, list(node.generators), made)
        for name, value in hidden.items():
            run.journal.put(fields, name, value)
        return run.of(made)

    def _generate(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        generators: list[ast.comprehension],
        made: Obj,
    ) -> None:
        if not generators:
            self._put(node, made)
            return
        first = generators[0]
        value = self.run.evaluate(first.iter)

        needing = self.run.needing
        told: dict[Hashable, frozenset[object]] = {}

        def iteration(loop: Loop) -> Flow:
            element = self._element(value, loop, first.iter)
            self._bind(first.target, element)
            self._vary(first.target, loop)
            for test in first.ifs:
                decided(self.run, test)
            parameters = needing.gone_over(element, first.iter) if not first.ifs else []
            needing.begin(parameters)
            self._generate(node, generators[1:], made)
            told.update(needing.end(parameters, loop))
            if loop.step and node.__class__ is ast.GeneratorExp:
                made.stepwise = True
            return Flow.NEXT

        self._repeat(first, iteration, value, alike=_is_alike(node))
        needing.all_told(told)

    def _bind(self, target: ast.expr, value: Value) -> None:
        """A comprehension's variable: in the frame while it runs, whatever the frame's own names are."""
        run = self.run
        if isinstance(target, ast.Name):
            if value and value[0].kind is Kind.UNKNOWN:
                value = run.names.suggested(target.id, value)
            run.put(run.frame.variables, target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each, part in zip(target.elts, run.elements.unpacked(value, len(target.elts), target), strict=True):
                self._bind(each, part)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value)

    def _put(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, made: Obj) -> None:
        run = self.run
        if isinstance(node, ast.DictComp):
            key = run.evaluate(node.key)
            value = run.evaluate(node.value)
            name = constant(key)
            if isinstance(name, (str, int)):
                run.put(made, name, value)
                return
            element: ast.expr = node.value
        else:
            element = node.elt
            value = run.evaluate(element)
        if made.kind != "generator":
            run.keeper.stored(run.of(made), value, element, None, None)
        run.add(made, value)


@of_node
def _is_alike(node: ast.expr) -> bool:
    """Whether a comprehension computes without calling anything or binding names but its own."""
    return not any(isinstance(each, _LEAVING) for each in walk(node))


def _anew(atom: Atom, now: int) -> Atom:
    """What a generator makes when it is asked for it."""
    if isinstance(atom.made, Obj) or atom.graph is not Graph.YES:
        return atom
    return atom.but(parts=atom.parts | {atom.site}, born=now, since=now)


def _step(over: Value) -> str:
    if any(atom.kind is Kind.LOADER for atom in over):
        return BATCHES
    if any(isinstance(atom.made, Obj) and atom.made.cls is LOADING for atom in over):
        return BATCHES
    if any(isinstance(atom.made, Obj) and atom.made.stepwise for atom in over):
        return "one iteration per step of what it goes over"
    return ""


def _is_long(over: Obj) -> bool:
    """Whether a range, by ones, is of as many numbers as no step has parts."""
    if over.kind != "range" or "step" in over.fields:
        return False
    count = constant(over.fields.get("count", ()))
    return isinstance(count, int) and count >= _MANY


def _is_small(over: Value) -> bool:
    """Whether what a loop goes over is a display, a range of a few numbers, or a loader of one batch."""
    if not over or over is PLAIN:
        return False
    for atom in over:
        made = atom.made
        if isinstance(made, Obj):
            if made.kind == "range":
                count = constant(made.fields.get("count", ()))
                if not (isinstance(count, int) and count <= _FEW):
                    return False
            elif (
                not made.fields
                or made.kind not in ("list", "tuple", "set", "dict")
                or ELEMENTS in made.fields
                or made.stepwise
            ):
                return False
        elif not (atom.kind is Kind.LOADER and isinstance(atom.site, ast.Call) and gives_one_batch(atom.site)):
            return False
    return True
