"""A module's program, followed: what it keeps, once for all who ask."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from flake8_torchleak.lifetime.assembly import take_apart
from flake8_torchleak.lifetime.deep import room
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.nodes import of_node
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.runner import Runner
from flake8_torchleak.lifetime.verdict import left
from flake8_torchleak.lifetime.world import Place
from flake8_torchleak.model.bounds import BEYOND, UNFOLLOWED
from flake8_torchleak.model.firstparty import Finder
from flake8_torchleak.model.index import count
from flake8_torchleak.model.outline import Outline

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_PER_NODE, _LEAST = 12, 30_000
"""Steps for each node of a file, and at least."""


@dataclass(eq=False)
class Followed:
    """What a module's program keeps. whole: whether nothing was given up for taking too many steps."""

    kept: list[Kept]
    run: Run
    whole: bool
    own: Place


def followed(module: Module) -> Followed:
    """Follow a module's program, once, whoever asks."""
    known = module.shared.get("followed")
    if not isinstance(known, Followed):
        known = module.shared["followed"] = _follow(module)
    return known


def forget(module: Module) -> None:
    """Let go of what was followed, if anything was: all of a module is done."""
    known = module.shared.pop("followed", None)
    if isinstance(known, Followed):
        take_apart(known.run, known.own)


def own_place(module: Module) -> Place:
    """Where a module's program is followed from."""
    finder = Finder(module.path) if module.project is not None and module.path is not None else None
    return Place(finder.path if finder is not None else "", module.root, None, finder)


def _follow(module: Module) -> Followed:
    root = module.root
    # What is asked here needs no index: where nothing is kept, none is made.
    runner = Runner(own_place(module), partial(_budget, root), patient=module.notes)
    try:
        if not module.tests_by(Outline(root, module.source.text).packages):  # the loops of tests are short
            with room():
                runner.all()
    except BaseException:  # it was stopped, or failed: nobody else lets go of it
        take_apart(runner.run, runner.own)
        raise
    if runner.given_up or runner.left_out:
        module.shared[UNFOLLOWED], module.shared[BEYOND] = runner.given_up, runner.left_out
    return Followed(left(runner.run), runner.run, not runner.given_up, runner.own)


_count = of_node(count)
"""The nodes of each statement: an editor shows most of them again and again."""


def _budget(root: ast.Module) -> int:
    return _LEAST + _PER_NODE * (1 + sum(map(_count, root.body)))
