"""Evaluations that build autograd graphs: those that the text shows, and those that following the program does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.evaluating import in_vain, is_differentiated
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model.evaluation import Evaluation
from flake8_torchleak.model.evaluation import followed as admitted
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.rounds import ROUNDS, Round, is_consumed
from flake8_torchleak.model.tree import LOOPS


def evaluations(module: Module) -> Iterator[Evaluation]:
    """One for each function, or loop at the top of the module.

    What the text shows is left out where the same call was followed, and never recorded a graph, or one for training.
    """
    told: set[ast.AST | None] = {each.function or each.loop for each in module.evaluations}
    run = followed(module).run
    for shown in module.evaluations:
        if run.seen.recording.get(shown.call, True) and not is_differentiated(run, shown.call):
            yield shown
    for each in in_vain(run):
        loop = _round(module, each.loop.node)
        scope = module.tree.function(each.call) or loop
        if scope not in told and loop is not None:
            found = admitted(module, each.call, loop, each.switched)
            if found is not None:
                told.add(scope)
                yield found


def _round(module: Module, node: ast.AST) -> Round | None:
    """The loop that was followed; of a comprehension's loops the whole, if that runs where it stands."""
    whole = node if isinstance(node, LOOPS) else module.tree.parents[node]
    assert isinstance(whole, ROUNDS)
    return whole if isinstance(whole, LOOPS) or is_consumed(module.tree, whole) else None
