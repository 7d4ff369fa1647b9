"""How much is kept, and for how long."""

from __future__ import annotations

import ast
from enum import IntEnum

from flake8_torchleak.lifetime.certainty import is_beside_loss, is_certain
from flake8_torchleak.lifetime.frames import EVALUATING, TRAINING
from flake8_torchleak.lifetime.graphs import is_freed
from flake8_torchleak.lifetime.inner import is_part
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import Site


class Worth(IntEnum):
    """How much is kept. LITTLE: for a part of a step, or one freed graph an epoch. NODES: of graphs that were freed.

    UNSURE: more, perhaps. ALL: what networks saved, for certain, and what an optimizer changed cannot use it any more.
    """

    LITTLE = 0
    NODES = 1
    UNSURE = 2
    ALL = 3


def worth(run: Run) -> dict[ast.AST, Worth]:
    """Statements that keep history -> how much of it, the most where a statement is come to in several ways."""
    found: dict[ast.AST, Worth] = {}
    sums = {each.value.site for each in run.keeper.found if each.how == "sum"}
    for each in run.keeper.found:
        if each.is_graph and not each.dead:
            found[each.at] = max(found.get(each.at, Worth.LITTLE), _worth(run, each, sums))
    return found


def _worth(run: Run, kept: Kept, sums: set[Site]) -> Worth:
    freed = is_freed(run, kept)
    if is_part(kept.loop) and _stays(run, kept):
        return Worth.LITTLE
    if not freed:
        return Worth.ALL if kept.loop.optimizes and is_certain(run, kept) else Worth.UNSURE
    made = {kept.value.site} | {site for _, site in kept.value.past}
    once = kept.loop.of_epochs and kept.how == "store" and kept.loop.step == TRAINING
    return Worth.LITTLE if once and made.isdisjoint(sums) else Worth.NODES


def is_of_micro_steps(run: Run, kept: Kept) -> bool:
    """Whether an optimizer steps behind a loop only, and what keeps something was made for that step."""
    return (
        kept.loop.step == TRAINING
        and kept.loop.is_micro
        and kept.local
        and kept.one_pass
        and kept.holders.isdisjoint(run.seen.placed)
    )


def is_of_one_update(run: Run, kept: Kept) -> bool:
    """Whether nothing shows that what a loop keeps outlives one change of the parameters, or one evaluated item.

    It goes over no batches and no optimizer steps in it, or it is a comprehension; what keeps something is made anew
    for it: an input in parts, a recurrence, terms of a loss that whoever gets it differentiates.
    """
    if isinstance(kept.loop.node, ast.comprehension) and kept.loop.step == EVALUATING:
        return is_let_go(run, kept)
    if kept.loop.step != TRAINING or kept.loop.optimizes:
        return False
    handed_on = (kept.holders | kept.table) & run.seen.placed or kept.table & run.seen.escaped
    if kept.holders and kept.holders <= run.seen.given_back and is_freed(run, kept):
        handed_on = frozenset()  # whoever called it gets the losses of one update
    return kept.how == "state" or (kept.is_graph and kept.one_pass and not handed_on)


def is_let_go(run: Run, kept: Kept) -> bool:
    """Whether what keeps something gets it in one pass over the data, and is gone with its function."""
    return kept.one_pass and _stays(run, kept)


def _stays(run: Run, kept: Kept) -> bool:
    """Whether what keeps something is a variable's value or a container of the function, and goes nowhere else."""
    if kept.how == "sum" and not kept.holders:
        if kept.table:
            return kept.one_pass and kept.table.isdisjoint(run.seen.escaped | run.seen.placed)
        return isinstance(kept.target, ast.Name) and kept.value.site not in run.seen.placed
    return kept.local and kept.holders.isdisjoint(run.seen.escaped | run.seen.placed)


def is_small(run: Run, node: ast.AST) -> bool:
    """Whether little is kept where a statement was followed: without history, or for a few steps what was freed."""
    found = run.keeper.weighed.get(node)
    if not found:
        return False  # what has history is held by something: `rows += (loss,)`
    large = [atom for atom in found if not is_beside_loss(run, atom)]
    if node in run.keeper.renewed:
        large = [atom for atom in large if (atom.parts | {atom.site}).isdisjoint(run.seen.spent)]
    return not large
