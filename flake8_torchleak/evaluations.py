"""Evaluations that build autograd graphs: those that the text shows, and those that following the program does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from flake8_torchleak.lifetime import libraries
from flake8_torchleak.lifetime.evaluating import in_vain, is_for_training, marks
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model.alike import is_detached
from flake8_torchleak.model.bindings import key_of
from flake8_torchleak.model.bounds import BEYOND, quietly
from flake8_torchleak.model.detached import detached
from flake8_torchleak.model.elsewhere import is_called_without
from flake8_torchleak.model.evaluated import DETACHED, WITHOUT_GRAPH, Evaluation, is_test
from flake8_torchleak.model.evaluation import followed as admitted
from flake8_torchleak.model.freezing import may_freeze
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.needing import needs_grad
from flake8_torchleak.model.passes import innermost, makers
from flake8_torchleak.model.phases import phases
from flake8_torchleak.model.rounds import ROUNDS, Round, is_consumed
from flake8_torchleak.model.tree import LOOPS, FunctionNode, Scope
from flake8_torchleak.model.unread import unread

_MOST_RUNS = 2
"""Calls in helpers that are shown."""


def evaluations(module: Module) -> Iterator[Evaluation]:
    """One for each function, or loop at the top of the module.

    What the text shows is left out where the same call was followed, and never recorded a graph, or one for training,
    and where what is called in the loop is seen to train. Where a caller is seen to put the network in evaluation
    mode, that says more than a name. What runs a network once a call is not told where its caller is.
    """
    told = [*_all(module)]
    told += _by_turns(module, {each.function for each in told})
    told += _detached(module, [*told])
    inner: dict[ast.AST | None, Evaluation] = {
        each.function: each for each in told if each.loop is None and each.function is not None
    }
    helpers: dict[Evaluation, Evaluation] = {}
    for each in told:
        helper = inner.get(module.classes.callee(each.call))
        if helper is not None and helper is not each:  # not one that calls itself
            helpers[each] = helper
    shown = set(helpers.values())
    for each in told:
        if each not in shown:
            yield replace(each, evidence=(*each.evidence, *_ran(module, each, helpers.get(each))))


def _ran(module: Module, told: Evaluation, helper: Evaluation | None) -> Iterator[tuple[ast.AST, str]]:
    """Where the network itself is run, if what is told of is the call of a helper."""
    call = told.call if helper is None else helper.call
    found = [*islice(innermost(module, call), _MOST_RUNS)] or ([call] if helper is not None else [])
    yield from ((each, "the network is run here") for each in found)


def _all(module: Module) -> Iterator[Evaluation]:
    """Those that the text shows, corrected by what was followed, and those that only following shows."""
    run = followed(module).run
    found = _followed(module)
    told: set[ast.AST | None] = {each.function or each.loop for each in module.evaluations}
    for shown in module.evaluations:
        if shown.by_use and _is_loaded(module, shown.call):
            continue
        is_for_none = run.seen.recording.get(shown.call, True) and shown.call not in run.seen.needing
        if is_for_none and not is_for_training(run, shown.call, shown.loop, shown.function):
            also = found.get(shown.function or shown.loop)
            if also is not None and also.is_switched and not also.assumed and not shown.is_switched:
                if shown.by_use and shown.call is not also.call:
                    yield also  # it says more than what another call's output is used for
                    continue
                shown = replace(shown, evidence=(*also.evidence, *shown.evidence), by_use=False)
            yield replace(shown, of_any_class=shown.call in run.seen.of_any_class)
    yield from (each for scope, each in found.items() if scope not in told)


def _by_turns(module: Module, told: set[FunctionNode | None]) -> Iterator[Evaluation]:
    """Those of functions that train under a condition, and run the same network where it does not hold."""
    for each in phases(module):
        if each.function not in told and not is_test(module, each.function):
            evidence = ((each.trained, f"differentiated only where `{each.test}`"), each.where)
            yield Evaluation(each.call, each.loop, each.function, evidence, test=each.test)


def _detached(module: Module, told: list[Evaluation]) -> Iterator[Evaluation]:
    """Those of networks whose outputs are only used without their graph, or by nobody, where nothing else is told: in
    other functions, and in what trains in other loops."""
    seen = followed(module).run.seen
    with quietly(module):
        found = [(call, cut, WITHOUT_GRAPH) for call, cut in detached(module)]
        found += [(call, name, f"nobody reads `{ast.unparse(name)}`") for call, name in unread(module)]
    needing = {_network_at(module, each) for each in seen.needing if each in module.tree.parents} if found else set()
    for call, place, why in found:
        function = module.tree.function(call)
        loop = next(iter(module.tree.loops(call)), None)
        scope = function or loop
        if scope is None or (loop is None and getattr(function, "name", "") == "main"):
            continue
        if any(_covers(module, each, call, scope) for each in told):
            continue
        if function is not None and (is_test(module, function) or is_called_without(module, function, call)):
            continue
        if call in seen.recording and (call not in seen.of_trained or not seen.recording[call]):
            continue
        whole = function or module.root
        if _is_loaded(module, call) or (not module.loops.trains(whole) and needs_grad(module, whole)):
            continue
        if (call not in seen.recording or call in seen.of_any_class) and may_freeze(module, call):
            continue
        if _network_at(module, call) not in needing and seen.spent.isdisjoint(marks(call)):
            known = Evaluation(call, loop, function, ((place, why),), by_use=True, in_training=True)
            yield replace(known, of_any_class=call in seen.of_any_class or call not in seen.recording)


def _covers(module: Module, told: Evaluation, call: ast.Call, scope: ast.AST) -> bool:
    """Whether who is told of one evaluation is told of another call of a network, too."""
    if (told.function or told.loop) is not scope:
        return False
    loops = module.tree.loops(told.call)
    return not module.loops.trains(scope) or not loops or module.tree.inside(call, loops[-1])


def _network_at(module: Module, call: ast.AST) -> tuple[Scope, str]:
    """What a call runs, by its name, and the function that it stands in."""
    return module.tree.scope(call), key_of(call.func) if isinstance(call, ast.Call) else ""


def _is_loaded(module: Module, call: ast.Call) -> bool:
    """Whether what is run was read by a library, and is no network of torch's: a tokenizer, a pipeline."""
    return any(map(libraries.NO_NETWORKS.fullmatch, makers(module, call)))


def _followed(module: Module) -> dict[ast.AST | None, Evaluation]:
    """The first evaluation of each function, or loop, that following the program shows."""
    found: dict[ast.AST | None, Evaluation] = {}
    program = followed(module)
    run, is_whole = program.run, program.whole and not module.shared.get(BEYOND)
    for each in in_vain(run):
        loop = _round(module, each.loop.node)
        scope = module.tree.function(each.call) or loop
        if loop is None or (each.assumed and (each.made is not each.call or not is_detached(module, each.call))):
            continue
        evaluation = admitted(module, each.call, loop, each.switched, is_whole)
        if each.assumed and evaluation is not None:
            evaluation = replace(evaluation, assumed=True, evidence=(*evaluation.evidence, (each.call, DETACHED)))
        if evaluation is not None and each.made in run.seen.of_any_class:
            evaluation = replace(evaluation, of_any_class=True)
        if evaluation is not None and (scope not in found or (found[scope].assumed and not each.assumed)):
            found[scope] = evaluation
    return found


def _round(module: Module, node: ast.AST) -> Round | None:
    """The loop that was followed; of a comprehension's loops the whole, if that runs where it stands."""
    whole = node if isinstance(node, LOOPS) else module.tree.parents[node]
    assert isinstance(whole, ROUNDS)
    return whole if isinstance(whole, LOOPS) or is_consumed(module.tree, whole) else None
