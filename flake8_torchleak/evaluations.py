"""Evaluations that build autograd graphs: those that the text shows, and those that following the program does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flake8_torchleak.lifetime.evaluating import in_vain
from flake8_torchleak.lifetime.follow import followed
from flake8_torchleak.model.evaluation import Evaluation
from flake8_torchleak.model.evaluation import followed as admitted
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.tree import LOOPS


def evaluations(module: Module) -> Iterator[Evaluation]:
    """One for each function, or loop at the top of the module.

    What the text shows is left out where the same call was followed, and never recorded a graph.
    """
    told: set[ast.AST | None] = {each.function or each.loop for each in module.evaluations}
    for shown in module.evaluations:
        if followed(module).run.seen.recording.get(shown.call, True):
            yield shown
    for each in in_vain(followed(module).run):
        assert isinstance(each.loop.node, LOOPS)
        scope = module.tree.function(each.call) or each.loop.node
        if scope not in told:
            found = admitted(module, each.call, each.loop.node, each.switched)
            if found is not None:
                told.add(scope)
                yield found
