"""Functions of the project: as values, with their decorators, and as they are followed when they are called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from flake8_torchleak.lifetime import evaluating, gradmode
from flake8_torchleak.lifetime.factories import made_to_order
from flake8_torchleak.lifetime.frames import CALLED, Frame, Function
from flake8_torchleak.lifetime.journal import Flow, Journal
from flake8_torchleak.lifetime.mattering import matters
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.run import Part, Run
from flake8_torchleak.lifetime.values import (
    ANYTHING,
    ELEMENTS,
    NONE,
    PLAIN,
    Atom,
    Graph,
    Keywords,
    Kind,
    Obj,
    Value,
    constant,
    join,
)
from flake8_torchleak.lifetime.world import ClassInfo, Place, Scope
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.tree import FunctionNode


class Functions(Part):
    """Follows functions."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._scopes: dict[ast.AST, Scope] = {}
        self._memos: dict[ast.AST, Obj] = {}
        """By function: what its cache keeps."""
        self.wrapping: set[ast.expr] = set()
        """Decorators that were followed: what they do is seen in the function that they give."""
        self._defaults: dict[ast.expr, Value] = {}
        """What parameters have by default: made once, when the function is defined."""

    def invoke(self, made: Function, args: Sequence[Value], keywords: Keywords, node: ast.AST) -> Value:
        """Follow a call of a function; what it returns."""
        run = self.run
        args = [*made.args, *args]
        keywords = {**dict(made.keywords), **keywords}
        if made.memo is not None:
            run.keeper.stored(run.of(made.memo), join([*args, *keywords.values()]), node, None, None)
        if made.node is None and made.builtin == CALLED:
            return run.calls.apply(made.receiver, list(args), keywords, _expression(node))
        if made.node is None:
            if made.receiver:
                return run.calls.method(made.receiver, made.builtin, list(args), _expression(node), keywords)
            *bound, receiver = args or [ANYTHING]  # `methodcaller("add", 1)(x)`
            return run.calls.method(receiver, made.builtin, bound, _expression(node), keywords)
        without = gradmode.is_of_metric(made) or (
            not isinstance(made.node, ast.Lambda)
            and bool(made.node.decorator_list)
            and gradmode.decorated_off(run, made.node, made.place, node is made.node)
        )
        off = (bool(run.grad_off) or without) and not gradmode.may_turn_on(made.node)
        if not made.place.is_own and not matters(run, made, args, keywords, off):
            for each in (made.receiver, *args, *keywords.values()):
                run.lend(each)
            return run.make.unknown(node, Graph.NO if off else Graph.MAYBE)
        if run.is_too_deep or any(each.function is not None and each.function.node is made.node for each in run.frames):
            run.lend(made.receiver)
            for each in (*args, *keywords.values()):
                run.escape(each)
                run.left_out = run.left_out or (run.is_too_deep and run.carries(each))
            return ANYTHING
        scope = self.scope(made.node)
        variables = run.object("frame", None, run.tick())
        frame = Frame(variables, made.place, run.clock, scope, made, node, len(run.loops))
        frame.given = (*args, *keywords.values())
        self._bind(made, frame, args, keywords)
        run.visited.add(made.node)
        if scope.yields:
            frame.yields = run.new("generator", node)
        before, tests, guards = run.grad_off, run.tests, run.guards
        mark = run.journal.mark
        # Behind what may run out of steps: what is set from here on is put back in the end.
        frame.tests, run.tests = tests, []
        run.grad_off += made.off or without
        run.frames.append(frame)
        try:
            if isinstance(made.node, ast.Lambda):
                return run.evaluate(made.node.body)
            if frame.yields is not None and run.generators.begin(made, frame):
                return run.of(frame.yields)
            flow = run.statements.block(made.node.body)
        finally:
            run.frames.pop()
            run.switches.yielding(frame, before)
            if made.off or without or scope.yields:
                run.grad_off = before  # a switch that is thrown in any other stays as it is
            run.tests, run.guards = tests, guards
        run.journal.add(frame.exits)
        if frame.yields is not None:
            yielded = run.of(frame.yields)
            if run.carries(yielded):
                run.seen.giving.add(made.node)
            return yielded
        if not frame.enclosed:
            run.journal.leave(mark, variables.fields)
        found = [*frame.returns, *([NONE] if flow is Flow.NEXT else [])]
        result = join(found) if found else NONE
        ordered = made_to_order(made.node)
        if any(atom.site in ordered for atom in result):
            # Who calls a factory twice gets two things, which must not be taken for one.
            kept = tuple(atom for atom in result if atom.site not in ordered)
            said = run.annotations.of_result(made.node, node, made.place)
            result = join([kept, said or tuple(run.make.moved(node, each) for each in result if each not in kept)])
        if run.carries(result):
            run.seen.giving.add(made.node)
        if node in run.seen.behind:
            evaluating.note_outputs(run, node, result)
        return result

    def scope(self, node: FunctionNode | ast.Lambda) -> Scope:
        """The names of a function."""
        if node not in self._scopes:
            self._scopes[node] = _scope(node)
        return self._scopes[node]

    def _bind(self, made: Function, frame: Frame, args: Sequence[Value], keywords: Keywords) -> None:
        run = self.run
        assert made.node is not None
        arguments = made.node.args
        fields = frame.variables.fields
        given = list(args)
        positional = [*arguments.posonlyargs, *arguments.args]
        if made.receiver and positional:
            given.insert(0, made.receiver)
        defaults = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
        defaults |= {p: d for p, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
        keywords = dict(keywords)
        for parameter, value in zip(positional, given, strict=False):
            fields[parameter.arg] = self._named(parameter.arg, value)
        rest = given[len(positional) :]
        if arguments.vararg is not None:
            held = run.new("tuple", arguments.vararg)
            held.fields.update(enumerate(rest))
            fields[arguments.vararg.arg] = run.of(held)
        spread = keywords.pop("**", None)
        for parameter in [*positional[len(given) :], *arguments.kwonlyargs]:
            if parameter.arg in keywords:
                fields[parameter.arg] = self._named(parameter.arg, keywords.pop(parameter.arg))
            elif parameter in defaults:
                # Of what is spread under names that are not known, none need be this.
                fields[parameter.arg] = self._left_out(parameter, defaults[parameter], made, frame)
            elif spread is not None:
                fields[parameter.arg] = spread
            else:
                fields[parameter.arg] = self.parameter(parameter, made.place)
        if arguments.kwarg is not None:
            held = run.new("dict", arguments.kwarg)
            held.fields.update(keywords)
            if spread is not None:
                held.fields[ELEMENTS] = spread
            fields[arguments.kwarg.arg] = run.of(held)

    def _named(self, name: str, value: Value) -> Value:
        return self.run.names.suggested(name, value) if len(value) == 1 else value

    def _left_out(self, parameter: ast.arg, default: ast.expr, made: Function, frame: Frame) -> Value:
        """A parameter with a default that the call does not give; where no call is seen, somebody may give it."""
        value = self._default(default, made)
        if frame.call is not made.node:
            return value
        known = constant(value)
        if known is None or any(each.kind is Kind.LIBRARY and not _is_of_torch(each) for each in value):
            return join([self.parameter(parameter, made.place), value])
        return PLAIN if isinstance(known, bool) else value

    def _default(self, node: ast.expr, made: Function) -> Value:
        if isinstance(node, ast.Constant):
            return self.run.evaluate(node)
        if node not in self._defaults:
            self._defaults[node] = self.at_top(node, made.place)
        return self._defaults[node]

    def parameter(self, node: ast.arg, place: Place) -> Value:
        """What a parameter holds of which no caller is seen."""
        said = self.run.annotations.value(node, place)
        if said:
            return said
        value: Value = (Atom(Kind.UNKNOWN, node, Graph.MAYBE, parts=frozenset({node})),)
        if node in self.run.seen.networks:
            return (value[0].but(kind=Kind.NETWORK, graph=Graph.NO),)
        return self.run.names.suggested(node.arg, value)

    def at_top(self, node: ast.expr, place: Place) -> Value:
        """An expression as it is evaluated at the top of a module, when that is imported: before all else."""
        with self.before_all(place):
            value = self.run.evaluate(node)
        for made in self.run.objects_in(value):
            made.born = 0
        return value

    @contextmanager
    def before_all(self, place: Place) -> Iterator[None]:
        """What is done now was done when a module was imported, or by who calls what is followed: before all else."""
        run = self.run
        frames, loops, journal, off = run.frames, run.loops, run.journal, run.grad_off
        run.frames = [Frame(place.variables, place, 0)]
        run.loops, run.journal, run.grad_off = [], Journal(), 0
        try:
            yield
        finally:
            run.frames, run.loops, run.journal, run.grad_off = frames, loops, journal, off

    def hand_over(self, value: Value, node: ast.expr, why: str) -> Value:
        """Functions that are handed to code nobody can see may be called: once, or in each step.

        What they give when they are called once is given back.
        """
        found: list[Value] = []
        for atom in value:
            made = atom.made
            if isinstance(made, Function) and made.node is not None and not self.run.is_too_deep:
                if why:
                    self.run.looping.repeat(node, self._calling(made, node), why)
                else:
                    found.append(self.invoke(made, [], {}, node))
        return join(found)

    def _calling(self, made: Function, node: ast.expr) -> Callable[[object], Flow]:
        def iteration(_: object) -> Flow:
            self.invoke(made, [], {}, node)
            return Flow.NEXT

        return iteration

    def bound(self, owner: ClassInfo, node: FunctionNode, receiver: Value, at: ast.expr) -> Value:
        """A method as an attribute of an object gives it."""
        marks = {last_name(each) for each in node.decorator_list}
        made = Function(node, owner.place, None, owner, () if "staticmethod" in marks else receiver)
        if marks & {"property", "cached_property"}:
            return self.invoke(made, [], {}, at)
        return self.decorated(node, made)

    def decorated(self, node: FunctionNode, made: Function) -> Value:
        """A function with its decorators applied: those of the project are followed, others leave it as it is."""
        run = self.run
        value: Value = (Atom(Kind.FUNCTION, node, made=made),)
        for each in reversed(node.decorator_list):
            if isinstance(each, ast.Name) and each.id in ("staticmethod", "classmethod", "property"):
                continue
            within = run.frames and (made.closure is not None or made.place is run.frame.place)
            look: Callable[[ast.expr], Value] = (
                run.evaluate if within else partial(self.at_top, place=made.place)  # where it was imported
            )
            before = run.grad_off
            decorator = look(each)
            run.grad_off = before  # as a decorator, a switch is thrown when the function is called
            if _is_cache(each, decorator, look):
                made.memo = self._memos.setdefault(node, run.object("dict", each, 0))
            if any(isinstance(atom.made, (Function, ClassInfo)) for atom in decorator) and not run.is_too_deep:
                given = run.calls.apply(decorator, [value], {}, each)
                if any(isinstance(atom.made, (Function, Obj)) for atom in given):
                    value = given
                    self.wrapping.add(each)
        return value


def _is_cache(node: ast.expr, decorator: Value, look: Callable[[ast.expr], Value]) -> bool:
    """Whether a decorator keeps what a function is called with, for good."""
    if isinstance(node, ast.Call):
        given = [*node.args, *(each.value for each in node.keywords if each.arg == "maxsize")]
        unbounded = bool(given) and isinstance(given[0], ast.Constant) and given[0].value is None
        return unbounded and any(atom.made == "functools.lru_cache" for atom in look(node.func))
    return any(atom.made == "functools.cache" for atom in decorator)


_scope = of_node(Scope)


def _is_of_torch(atom: Atom) -> bool:
    return isinstance(atom.made, str) and atom.made.startswith("torch.")


def _expression(node: ast.AST) -> ast.expr:
    return node if isinstance(node, ast.expr) else ast.Name("_", ast.Load())
