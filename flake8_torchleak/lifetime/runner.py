"""Which functions of a module are run as if somebody called them: once, in each step, or as a forward pass."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property, partial

from flake8_torchleak.lifetime.assembly import assembled
from flake8_torchleak.lifetime.budget import Over
from flake8_torchleak.lifetime.frames import FORWARD, Frame, Function, Loop
from flake8_torchleak.lifetime.gradmode import ends_off
from flake8_torchleak.lifetime.journal import Flow
from flake8_torchleak.lifetime.layers import is_inside, may_normalize, take_back
from flake8_torchleak.lifetime.outputs import collect, differentiated_of
from flake8_torchleak.lifetime.receivers import Receivers
from flake8_torchleak.lifetime.run import MOST_FRAMES
from flake8_torchleak.lifetime.showing import is_returned
from flake8_torchleak.lifetime.stepping import Stepping, makes_step
from flake8_torchleak.lifetime.uses import STEPS
from flake8_torchleak.lifetime.values import INPUT, Atom, Graph, Keywords, Kind, Obj, Value, objects
from flake8_torchleak.lifetime.world import ClassInfo, Place
from flake8_torchleak.model.gradmode import HOOKS_WITHOUT_GRAD
from flake8_torchleak.model.tree import FunctionNode

_LARGEST_SHARE = 3 / 4
"""Of the steps that are left: how many one function may take, so that there are some for those behind it."""
_PATIENCE, _LITTLE_PATIENCE = 6_000, 1_500
"""Steps before a loop proves to be one of steps, where nobody wants notes; the second is of functions for which only
something else speaks that they reach. Of 82 functions in 280 repositories with such a loop that keeps more than a note
none took more than 5,706, and none was of the second kind."""
_RESERVED = 400
"""Steps that each function has in any case, whatever those before it took: most take fewer."""
_MOST_INPUTS = 2
"""Of a forward pass: what is taken for tensors; further parameters are masks and options, as a rule."""
_DIFFERENTIATED = frozenset({"training_step", "compute_loss"})
_WITHOUT_GRAD = ("on_validation", "on_test", "on_predict")
"""How the names of more such hooks begin."""


class Runner:
    """Runs a module and its functions."""

    def __init__(self, own: Place, budget: Callable[[], int], views: bool = False, patient: bool = True) -> None:
        self.run = assembled(views)
        self._patient = patient
        self.own, self._budget = own, budget
        self.given_up: dict[ast.AST, str] = {}
        """Functions that were not followed to their end, and why, for a message."""
        self.left_out: dict[ast.AST, str] = {}
        """Functions whose calls lead deeper than is followed, and why that may matter, for a message."""
        self._off = 0
        """Whether the module turns gradients off when it is imported."""

    @cached_property
    def _left(self) -> int:
        """The steps that are left: who follows nothing need not count what there is."""
        return self._budget()

    @cached_property
    def _steps(self) -> Stepping:
        assert self.own.root is not None  # the module that is linted has its tree
        return Stepping(self.own.root)

    @cached_property
    def receivers(self) -> Receivers:
        """The classes that methods are followed for."""
        return Receivers(self.run, self.own, self._steps.classes)

    def all(self) -> None:
        """The module as it is run, then each function that nobody was seen to call, where there may be steps."""
        run, root, steps = self.run, self.own.root, self._steps
        assert root is not None
        self._off = int(ends_off(run, root.body, self.own))
        if steps.at_top:
            run.whole = steps.in_vain
            self._bounded(root, partial(run.statements.block, root.body))
            run.whole = False
        for function, owner in steps.callers_first():
            if function not in run.visited and steps.matters(function):
                self._bounded(function, partial(self._root, function, owner))

    def _bounded(self, node: FunctionNode | ast.Module, work: Callable[[], object]) -> None:
        """Follow something within its share of the steps that are left.

        What takes more is given up: what it seemed to keep is not certain, and what it set is taken back.
        """
        run = self.run
        run.frames = [Frame(self.own.variables, self.own, 0)]
        run.loops, run.guards, run.tests, run.nesting = [], [], [], 0
        share = max(int(self._left * _LARGEST_SHARE), _RESERVED)
        run.allow(share, None if self._patient else self._before(node))
        kept, visited = run.keeper.mark, run.visited
        evaluated = dict(run.seen.evaluated)
        run.journal.clear()
        run.visited, run.left_out, run.cut = set(), False, set()
        try:
            work()
            if run.left_out:
                self.left_out[node] = f"they are more than {MOST_FRAMES - 1} deep"
        except (Over, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            unproven = not deep and run.is_unproven
            if not unproven:
                self.given_up[node] = (
                    "it is nested too deeply" if deep else f"following it takes more than {share} steps"
                )
            run.journal.undo(0)
            run.keeper.forget(kept)
            run.seen.evaluated = evaluated
            # What it calls is followed on its own, but for what was done with and showed no step.
            run.visited = {node, *(run.visited - run.cut if unproven else ())}
        run.visited |= visited
        self._left = max(self._left - share + run.unspent, 0)

    def _begin(self) -> None:
        """A function is run by whoever calls it: in no loop, under no condition, with gradients as the module has."""
        run = self.run
        run.grad_off, run.evaluating, run.evaluating_since = self._off, False, None
        run.loops, run.guards, run.tests = [], [], []

    def _before(self, node: FunctionNode | ast.Module) -> int:
        """The steps before a loop has to prove to be one of steps."""
        return _PATIENCE if isinstance(node, ast.Module) or self._steps.surely(node) else _LITTLE_PATIENCE

    def _root(self, function: FunctionNode, owner: ast.ClassDef | None) -> None:
        run = self.run
        if owner is None:
            with run.needing.alone():
                self._call(Function(function, self.own), None)
            return
        info = run.names.class_info(owner, self.own)
        if function.name == "forward" and info.is_network:
            self._forward(function, info)
            return
        for each in self.receivers.of(info, function):
            instance = self._instance(each)
            made = function.name == "__init__"  # the object is made anew, with what that tells of its networks
            with nullcontext() if made else run.needing.alone():
                self._call(Function(function, self.own, None, info, instance), info)

    def _forward(self, function: FunctionNode, info: ClassInfo) -> None:
        """Follow a network's forward pass as a training program calls it: step by step, with what has history."""
        run = self.run
        names = [each.arg for each in function.args.args][1:]
        for each in self.receivers.of(info, function):
            instance = self._instance(each)
            made = Function(function, self.own, None, info, instance)
            given: Keywords = {}
            inside = is_inside(each, instance)
            if inside or may_normalize(function, instance):
                atom = Atom(Kind.TENSOR, None, Graph.YES, parts=frozenset({(INPUT, function)}))
                given = {name: (atom.but(site=(function, name)),) for name in names[:_MOST_INPUTS]}
            self._begin()
            results: list[Atom] = []
            mark = run.keeper.mark
            with run.needing.alone():
                run.looping.repeat(function, partial(self._pass, made, given, results), FORWARD)
            for kept in run.keeper.found[mark:]:
                kept.returned = is_returned(kept, results)
            if not inside:
                take_back(run.keeper.found[mark:], results, instance)

    def _pass(self, made: Function, given: Keywords, results: list[Atom], _: Loop) -> Flow:
        run = self.run
        assert made.node is not None
        handed = given | {
            each.arg: run.functions.parameter(each, self.own)
            for each in made.node.args.args[1:] + made.node.args.kwonlyargs
            if each.arg not in given
        }
        fresh = {name: tuple(self._of_pass(atom, made.node) for atom in value) for name, value in handed.items()}
        result = self._given_back(run.functions.invoke(made, [], fresh, made.node))
        results += [atom for atom, _ in run.within(result)]
        return Flow.NEXT

    def _of_pass(self, atom: Atom, function: ast.AST) -> Atom:
        """What a forward pass is handed, in this pass: the caller may hand it something else in the next."""
        run = self.run
        if isinstance(atom.made, Obj) and isinstance(atom.made.cls, ClassInfo):
            with run.functions.before_all(atom.made.cls.place):
                (made,) = objects(run.instances.unseen(atom.made.cls, function))
            made.born = run.tick()
            return atom.but(made=made)
        return atom.but(born=run.tick(), since=run.clock)

    def _call(self, made: Function, info: ClassInfo | None) -> None:
        """Follow a function as if somebody called it: once, or in each step."""
        run, function = self.run, made.node
        assert function is not None
        assert not isinstance(function, ast.Lambda)
        self._begin()
        why = _why_step(function, info)
        without = function.name in HOOKS_WITHOUT_GRAD or function.name.startswith(_WITHOUT_GRAD)
        if info is not None and ((without and info.foreign) or self._is_constructed_without(function, info)):
            run.grad_off = 1
        if why:
            run.looping.repeat(function, lambda _: self._step(made, info), why)
        else:
            run.escape(self._given_back(run.functions.invoke(made, [], {}, function)))

    def _is_constructed_without(self, function: FunctionNode, info: ClassInfo) -> bool:
        """Whether the constructor turns gradients off: other methods run behind it."""
        found = info.method("__init__")
        return found is not None and found[1] is not function and ends_off(self.run, found[1].body, found[0].place)

    def _step(self, made: Function, info: ClassInfo | None) -> Flow:
        assert made.node is not None
        assert not isinstance(made.node, ast.Lambda)
        result = self._given_back(self.run.functions.invoke(made, [], {}, made.node))
        if made.node.name in _DIFFERENTIATED:
            self.run.backward.differentiate(differentiated_of(result))
            if info is not None:
                collect(self.run, result, made.node, info)
        return Flow.NEXT

    def _given_back(self, result: Value) -> Value:
        """What a function returns that nobody was seen to call: somebody may differentiate it."""
        self.run.seen.given_back.update(atom.site for atom in result if atom.graph is Graph.YES)
        self.run.seen.given_back.update(made.node for made in self.run.objects_in(result))
        return result

    def _instance(self, info: ClassInfo) -> Value:
        if info.instance is None:
            (info.instance,) = objects(self.run.instances.unseen(info, info.node))
        return self.run.of(info.instance)


def _why_step(function: FunctionNode, info: ClassInfo | None) -> str:
    """Why a function that nobody is seen to call runs once per step; "" if nothing says so."""
    if info is not None and function.name in STEPS and (info.foreign or info.bases):
        return "a framework calls it once per step"
    return "it makes one training step" if makes_step(function) else ""
