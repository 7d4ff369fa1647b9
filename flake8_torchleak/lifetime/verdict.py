"""What is left in the end of what seemed to be kept: what nothing differentiates, empties or bounds."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.batches import is_tensor
from flake8_torchleak.lifetime.frames import FORWARD, IN_VAIN, TRAINING
from flake8_torchleak.lifetime.graphs import is_freed, is_in_vain, is_spent
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.metering import is_loss
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import LEAF, is_marked


def left(run: Run) -> list[Kept]:
    """What is kept when all has been followed."""
    keeper = run.keeper
    excused = {site for each in keeper.found for site in each.holders if each.holders & run.seen.read_back}
    found: list[Kept] = []
    for each in keeper.found:
        if each.how == "batch" and not is_tensor(run, each.value):
            continue
        if each.is_graph and each.sites & run.seen.refused:
            continue
        if each.how == "meter" and not is_loss(run, each):
            continue
        if each.how == "hook" and each.value.site in run.seen.unhooked:
            continue
        if each.loop.step == FORWARD and each.ids and all(isinstance(holder, ast.arg) for holder in each.ids):
            continue  # who calls the network gave what keeps it, and decides when that starts anew
        if each.loop.step == IN_VAIN and not is_in_vain(run, each):
            continue  # something is differentiated in another file, or may be
        is_handed_on = (
            each.how == "store" and each.holders & run.seen.escaped and not (each.evaluating or each.loop.trains)
        )
        if is_handed_on and not each.sites & run.seen.spent:
            continue  # whoever gets it may differentiate it
        is_used = each.is_graph and not (
            each.holders.isdisjoint(run.seen.read_back | excused)
            and each.inner.isdisjoint(run.seen.read_later | excused)
        )
        if each.dead or is_used:
            continue
        if each.how == "store" and each.holders & run.seen.plain and not is_spent(run, each):
            continue
        if each.how == "sum" and each.parts & run.seen.spent:
            continue
        if _is_for_caller(run, each) or _is_of_leaf(run, each):
            continue
        found.append(each)
    return found


def _is_for_caller(run: Run, kept: Kept) -> bool:
    """Whether a function that changes no parameters gives back what it gathers, whose graph is whole: terms of a loss.

    What is differentiated in its loop is something else: the input of an attack, samples of an energy model.
    """
    if kept.how != "store" or kept.loop.step != TRAINING or kept.loop.optimizes or kept.evaluating:
        return False
    return kept.local and kept.one_pass and not kept.holders.isdisjoint(run.seen.given_back) and not is_freed(run, kept)


def _is_of_leaf(run: Run, kept: Kept) -> bool:
    """Whether something is a part, by slices, of a leaf that lasts: its graph is one node, which saves nothing more."""
    site = kept.value.site
    history = run.seen.history(kept.value)
    leaves = {each[1] for each in history if isinstance(each, tuple) and is_marked(each, LEAF)}
    rest = {each for each in history if not is_marked(each, LEAF)} - {site}
    if not isinstance(site, ast.Subscript) or not leaves or not rest <= leaves:
        return False
    index = site.slice.elts if isinstance(site.slice, ast.Tuple) else [site.slice]
    return all(isinstance(each, ast.Slice) for each in index) and leaves.isdisjoint(walk(kept.loop.node))
