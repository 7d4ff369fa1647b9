"""Evaluation loops that run a model with gradients on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flake8_torchleak.model import hints
from flake8_torchleak.model.again import loop_around
from flake8_torchleak.model.beside import may_be_beside
from flake8_torchleak.model.bounds import quietly
from flake8_torchleak.model.classfacts import self_name
from flake8_torchleak.model.elsewhere import are_switching, calls_elsewhere, is_called_without
from flake8_torchleak.model.fed import goes_over_batches
from flake8_torchleak.model.gradmode import Grad
from flake8_torchleak.model.modes import SWITCHED
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.needing import needs_grad
from flake8_torchleak.model.ofoutputs import works_on_outputs
from flake8_torchleak.model.onepass import networks_of, one_pass, switched_before
from flake8_torchleak.model.passes import is_supposed, passes
from flake8_torchleak.model.rounds import ROUNDS, Round, comprehensions, iterables, targets
from flake8_torchleak.model.running import is_forward, switches_itself
from flake8_torchleak.model.shown import evidence_of, is_given, over_batches
from flake8_torchleak.model.tree import COMPREHENSIONS, FUNCTIONS, LOOPS, FunctionNode, Scope
from flake8_torchleak.model.unneeded import may_be_read, may_be_unneeded, unneeded
from flake8_torchleak.model.values import Kind

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module


MADE_SO = "`from_pretrained` gives a network in evaluation mode, which does not turn autograd off"
"""What a note says of a network that was put in evaluation mode by the library that made it."""
SWITCHED_ELSEWHERE = "who calls it puts the network in evaluation mode, which does not turn autograd off"
"""What a note says of a function whose callers are in other files."""

ALSO = "this builds a graph as well"
"""What a note says of the other networks that a function runs."""
_MOST_OTHERS = 3
"""Others that are shown."""

DETACHED = "it is taken to run the network with gradients on, as what it gives is detached"
"""What a note says of a method that nobody can see."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """One evaluation loop: its first model call, the loop, the function, and evidence.

    loop: None if the function goes over all data at once; function: None at module level.
    """

    call: ast.Call
    loop: Round | None
    function: FunctionNode | None
    evidence: tuple[tuple[ast.AST, str], ...]
    by_use: bool = False
    """Whether only what becomes of the outputs says that no gradients are needed."""
    followed: bool = False
    """Whether the text alone does not show it: what is called runs the network, or somebody else sets its mode."""
    assumed: bool = False
    """Whether only what becomes of the output says that a method which nobody can see builds a graph."""
    of_any_class: bool = False
    """Whether the network may be of any class of the project."""
    in_training: bool = False
    """Whether it may stand in training, of which it is no part: its outputs are only used without their graph."""
    test: str = ""
    """The condition under which the same call is for training, as it is written."""

    @property
    def is_switched(self) -> bool:
        """Whether the program puts the network in evaluation mode."""
        return any(text in (SWITCHED, MADE_SO, SWITCHED_ELSEWHERE) for _, text in self.evidence)


def unguarded_evaluations(module: Module) -> Iterator[Evaluation]:
    """The first of every function, and of the module; in what trains as well, the first of every loop that does not.

    Where nobody is told of notes, those that cannot be more may be missing: those in no loop, and those that only their
    use shows in functions that go over no batches.
    """
    told = dict.fromkeys(_candidates(module))
    for scope in told:
        found = [*_evaluations(module, scope, by_use=False)]
        if found and not _trains_elsewhere(module, scope):
            yield from found
    for scope in dict.fromkeys(each for each in may_be_unneeded(module) if each not in told):
        if not module.notes and not goes_over_batches(module, scope):
            continue
        with quietly(module):
            found = [*_evaluations(module, scope, by_use=True)]
        yield from found  # all who get what it gives were asked


def _trains_elsewhere(module: Module, scope: Scope) -> bool:
    """Whether another file differentiates what a function gives. Asked last: the other files are read for it."""
    return isinstance(scope, FUNCTIONS) and module.release.callers.train_elsewhere(scope)


def _candidates(module: Module) -> list[Scope]:
    """Scopes that put a model in evaluation mode, that evaluate beside training, or whose name speaks of it."""
    found: dict[Scope, None] = dict.fromkeys(_switching(module))
    for function in module.tree.all(*FUNCTIONS):
        if hints.is_evaluation(function.name):
            found[function] = None
    scopes = (module.tree.function(loop) or module.root for loop in module.tree.all(*ROUNDS))
    found.update(dict.fromkeys(each for each in dict.fromkeys(scopes) if may_be_beside(module, each)))
    return list(found)


def _switching(module: Module) -> Iterator[Scope]:
    """The functions that set a network's mode, and those that call something by such a network's name."""
    called: set[str] = set()  # each name's calls are gone through once, however often its mode is set
    for switch in module.classes.own_calls("eval", "train"):
        if not isinstance(switch.func, ast.Attribute) or (not switch.args) != (switch.func.attr == "eval"):
            continue
        yield module.tree.function(switch) or module.root
        names = {last_name(each): None for each in networks_of(module, switch)}
        for name in names:
            if name and name not in called:
                called.add(name)
                yield from (module.tree.function(each) or module.root for each in module.classes.own_calls(name))


def _evaluations(module: Module, scope: Scope, by_use: bool) -> Iterator[Evaluation]:
    """The first of a scope, with the others as evidence: one decorator is the remedy for all of them. Where the scope
    trains as well, the first of each loop that does not.

    What the text shows at once is asked first: in most loops gradients are off, or something is trained.
    by_use: whether only what becomes of the outputs can show an evaluation.
    """
    at_once = scope if module.notes and isinstance(scope, FUNCTIONS) else None
    has_loops = any(isinstance(node, ROUNDS) for node in module.tree.within(scope))
    if has_loops:
        if is_test(module, scope) or is_forward(module, scope):
            return
        in_loops = _InLoops(module, scope, by_use)
        shown = in_loops.shown()
        if shown or in_loops.is_left_out:
            yield from shown
            return
    if at_once is not None:
        with quietly(module):
            found = _at_once(module, at_once)
        if found is not None and not (has_loops and _is_left_out(module, scope)):
            yield found


class _InLoops:
    """The evaluations in the loops of a scope."""

    def __init__(self, module: Module, scope: Scope, by_use: bool) -> None:
        self.module, self.scope, self.by_use = module, scope, by_use
        self.is_left_out = False
        """Whether a look at the first of them showed that the scope needs gradients, or is never run with them."""

    def shown(self) -> list[Evaluation]:
        """One for the scope, or for each loop of it that trains nothing; those that only their use shows come last."""
        found = [*self._passing()]
        if self.is_left_out or not found:
            return []
        # In their order, but for those that less shows.
        found.sort(key=lambda each: (each.by_use, is_supposed(self.module, each.call)))
        if not self.module.loops.trains(self.scope):
            others = tuple((each.call, ALSO) for each in found[1 : _MOST_OTHERS + 1])
            return [replace(found[0], evidence=(*found[0].evidence, *others))]
        of_loops = {self._outermost(each): each for each in reversed(found)}
        return [each for each in found if of_loops[self._outermost(each)] is each]

    def _passing(self) -> Iterator[Evaluation]:
        module, scope = self.module, self.scope
        trains = module.loops.trains(scope)
        asked: dict[Round | None, bool] = {}
        for call in module.tree.calls(scope):
            around = _around(module, call)
            if around is None or module.grad.at(call) is not Grad.ON:
                continue
            if self.by_use and not (passes(module, call) and may_be_read(module, call)):
                continue
            free = self._free(call)
            if free not in asked:
                asked[free] = _is_left_out(module, scope, free)
            if asked[free] and trains:
                continue
            if asked[free]:
                self.is_left_out = True
                return
            if (not self.by_use and not passes(module, call)) or works_on_outputs(module, call):
                continue
            found = _of_call(module, scope, call, around)
            if found is None or module.loops.modes.contradicted(scope) or switches_itself(module, call):
                continue
            if found.function is not None and is_called_without(module, found.function, call):
                self.is_left_out = True
                return
            yield found

    def _outermost(self, found: Evaluation) -> Round | None:
        """The outermost loop around an evaluation that trains nothing."""
        return self._free(found.call) or found.loop

    def _free(self, call: ast.Call) -> Round | None:
        """The outermost loop around a call that trains nothing, in what trains; None elsewhere, where all is one."""
        if not self.module.loops.trains(self.scope):
            return None
        around = [each for each in self.module.tree.loops(call) if not self.module.loops.trains(each)]
        return around[-1] if around else None


def _of_call(module: Module, scope: Scope, call: ast.Call, around: Round) -> Evaluation | None:
    """What shows that a call of a network in a loop evaluates: its mode, names, or what becomes of what it gives."""
    over = over_batches(module, call, around)
    function = scope if isinstance(scope, FUNCTIONS) else None
    evidence = evidence_of(module, scope, call, around, over)
    if evidence and _is_of_step(module, around, evidence[0][0]):
        evidence = ()
    use: tuple[tuple[ast.AST, str], ...] = ()
    if not evidence:
        use = unneeded(module, scope, call, over or around)
        before = switched_before(module, call) if use else None
        evidence = ((before, SWITCHED),) if before is not None else ()
    named = function is not None and hints.is_evaluation(function.name)
    if not evidence and not use and over is None and not named:
        return None
    if function is not None and module.loops.modes.evaluates(call) is None and are_switching(module, function, call):
        evidence = ((function, SWITCHED_ELSEWHERE), *evidence)
    if not evidence and not use:
        return None
    return Evaluation(call, around, function, evidence or use, not evidence)


def _is_of_step(module: Module, around: Round, shown: ast.AST) -> bool:
    """Whether a loop is a part of a training step: in a loop that itself differentiates, which goes on in it.

    Not where it goes over a loader, or the loop around puts the network in evaluation mode itself: it validates now and
    then. shown: what shows that it evaluates.
    """
    if any(map(module.loops.gives_batches, iterables(around))):
        return False
    steps = [module.tree.loops(each)[:1] for each in module.classes.own_calls("backward", "manual_backward")]
    return any(
        [loop] in steps and not module.tree.inside(shown, loop)
        for loop in module.tree.loops(around)
        if loop is not around
    )


def _around(module: Module, call: ast.Call) -> Round | None:
    """The innermost loop around a call of more than a few rounds, or else a comprehension: one that may evaluate."""
    rounds = [loop_around(module, call), *comprehensions(module.tree, call)]
    return next((each for each in rounds if each is not None and _may_evaluate(module, call, each)), None)


def _may_evaluate(module: Module, call: ast.Call, around: Round) -> bool:
    """Whether a loop of more than a few rounds trains nothing; a comprehension gives the call what it goes over."""
    if module.loops.trains(around) or module.loops.is_short(around) or module.loops.prepares(around):
        return False
    return not isinstance(around, COMPREHENSIONS) or is_given(targets(around), module, call)


def followed(module: Module, call: ast.Call, loop: Round, switched: ast.AST, is_whole: bool) -> Evaluation | None:
    """What following the program shows to be an evaluation, unless what the text shows speaks against it.

    is_whole: whether all was followed, and so shows better than the text whether what is called in the loop trains.
    """
    scope = module.tree.function(call) or module.root
    if module.grad.at(call) is not Grad.ON or module.loops.is_short(loop) or module.loops.prepares(loop):
        return None
    if not is_whole and module.loops.trains(loop):
        return None
    if isinstance(loop, COMPREHENSIONS) and not is_given(targets(loop), module, call):
        return None
    if is_test(module, scope) or _is_left_out(module, scope, loop):
        return None
    if is_forward(module, scope) and not _is_own(module, switched, scope):
        return None
    if module.loops.modes.contradicted(scope) or switches_itself(module, call) or works_on_outputs(module, call):
        return None
    function = scope if isinstance(scope, FUNCTIONS) else None
    if function is not None and is_called_without(module, function, call):
        return None
    if _trains_elsewhere(module, scope):
        return None
    is_made = isinstance(switched, ast.Call) and last_name(switched.func) == "from_pretrained"
    evidence = ((switched, MADE_SO if is_made else SWITCHED),) if switched in module.tree.parents else ()
    return Evaluation(call, loop, function, evidence, followed=True)


def _is_own(module: Module, switched: ast.AST, scope: Scope) -> bool:
    """Whether a method puts its own object in evaluation mode: it is no part of a forward pass."""
    if switched not in module.tree.parents or module.tree.scope(switched) is not scope:
        return False
    base = switched.func.value if isinstance(switched, ast.Call) and isinstance(switched.func, ast.Attribute) else None
    return isinstance(scope, FUNCTIONS) and isinstance(base, ast.Name) and base.id == self_name(scope)


def _is_left_out(module: Module, scope: Scope, around: Round | None = None) -> bool:
    """Whether what a function does needs gradients, or goes into training; in what also trains, what a loop of it does.

    What such a function sets of its parameters, `p.requires_grad = args.learn`, is of its training.
    """
    if needs_grad(module, around if around is not None and module.loops.trains(scope) else scope):
        return True
    return isinstance(scope, FUNCTIONS) and module.release.callers.are_training(scope) is not None


def _at_once(module: Module, scope: FunctionNode) -> Evaluation | None:
    """A function that runs a network outside of all loops: over everything, beside training, or once a call."""
    found = _whole_set(module, scope)
    if found is not None or is_forward(module, scope) or is_test(module, scope):
        return found
    passed = one_pass(module, scope)
    if passed is None or module.loops.trains(scope) or switches_itself(module, passed[0]):
        return None
    if _is_left_out(module, scope) or is_called_without(module, scope, passed[0]):
        return None
    if any(loop_around(user, call) is not None and passes(user, call) for user, call in calls_elsewhere(module, scope)):
        return None  # it is told where that loop is
    return Evaluation(passed[0], None, scope, passed[1], all(text != SWITCHED for _, text in passed[1]))


def _whole_set(module: Module, scope: FunctionNode) -> Evaluation | None:
    """A function that evaluates everything at once (itself or by a helper), called from a training loop of the file."""
    if not hints.is_evaluation(scope.name) or module.grad.function(scope) is not Grad.ON:
        return None
    calls = module.classes.calls_of(scope)
    caller = next((c for c in calls if _in_training(module, c) and module.grad.at(c) is Grad.ON), None)
    if caller is None or any(_is_in_every_step(module, each) for each in calls):
        return None
    for call in module.tree.calls(scope):
        if (
            passes(module, call)
            and not module.loops.modes.contradicted(scope)
            and module.grad.at(call) is Grad.ON
            and not module.loops.trains(scope)
        ):
            return Evaluation(call, None, scope, ((caller, "called in the training loop"),))
    return None


def _in_training(module: Module, call: ast.Call) -> bool:
    return any(module.loops.trains(loop) for loop in module.tree.loops(call))


def is_test(module: Module, scope: Scope) -> bool:
    """A unit test: its graphs are as small as its inputs."""
    if not isinstance(scope, FUNCTIONS) or not scope.name.startswith("test"):
        return False
    if module.names.imports & {"pytest", "unittest", "absl", "parameterized"}:
        return True
    owner = module.tree.class_of(scope)
    if owner is not None and not any("Test" in name for name in (owner.name, *map(last_name, owner.bases))):
        return False  # no class whose methods a test runner calls
    own = [p for p in scope.args.args if p.arg not in ("self", "cls")]
    return scope.name.startswith("test_") and not any(
        module.infer.parameters.value(p, scope).kind in (Kind.MODULE, Kind.LOADER) for p in own
    )


def _is_in_every_step(module: Module, call: ast.Call) -> bool:
    """Whether a call gives something in each round of the very loop that differentiates: it is a part of training."""
    if isinstance(module.tree.parents[call], ast.Expr):
        return False
    for up in module.tree.ancestors(call):
        if isinstance(up, LOOPS):
            return module.loops.trains(up)
        if isinstance(up, (ast.If, *FUNCTIONS)):
            break
    return False
