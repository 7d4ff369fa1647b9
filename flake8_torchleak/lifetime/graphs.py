"""What is left of the graph of something that is kept: all of it, its nodes alone, or what steps share."""

from __future__ import annotations

import ast

from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.values import BY_CALL, BY_NAME, ELEMENTS, Site, is_marked


def is_spent(run: Run, kept: Kept) -> bool:
    """Whether what is kept was differentiated in its step: its graph is gone but for the nodes."""
    return not kept.sites.isdisjoint(run.seen.roots)


def is_freed(run: Run, kept: Kept) -> bool:
    """Whether what networks saved for what is kept is gone: it was differentiated, and only the graph's nodes stay.

    A row of an output that was differentiated as a whole is a view of it.
    """
    if kept.value.site in run.seen.freed:
        return True
    calls = {site for site in run.seen.history(kept.value) if is_marked(site, BY_CALL, BY_NAME)}
    if calls:
        made = {site[1] for site in calls if isinstance(site, tuple)}
        parts = {site for site in kept.sites if isinstance(site, tuple) and whole(site) in made}
        return calls | (parts - _rows(run, parts)) <= run.seen.freed
    roots = kept.sites & run.seen.roots
    return bool(roots) and roots <= run.seen.freed


def _rows(run: Run, parts: set[tuple[Site, ...]]) -> set[tuple[Site, ...]]:
    """Elements, by an index that is not known, of outputs of which no other part was differentiated: of tensors."""
    rows = {site for site in parts if site[1] == ELEMENTS}
    taken_apart = {site[0] for site in run.seen.freed if isinstance(site, tuple)} if rows else set()
    return {site for site in rows if site[0] not in taken_apart}


def only_nodes(run: Run) -> set[ast.AST]:
    """The statements that keep history of which the nodes alone stay, for certain, of each value and in each pass."""
    kept = [each for each in run.keeper.found if each.is_graph and not each.dead]
    whole = {each.at for each in kept if each.conditional or not is_freed(run, each) or _may_stay(run, each)}
    return {each.at for each in kept} - whole


def _may_stay(run: Run, kept: Kept) -> bool:
    return not (kept.sites | run.seen.history(kept.value)).isdisjoint(run.seen.perhaps_kept)


def is_cut_elsewhere(run: Run, kept: Kept) -> bool:
    """Whether something not seen cuts the steps from each other, and perhaps what is kept: else the next would raise.

    A network is given what an earlier step made with it, and each step is differentiated through that call, by which
    the graph of the earlier one is gone.
    """
    if kept.how != "store" or not kept.value.past or not is_freed(run, kept):
        return False
    calls = {site[1] for site in kept.sites if is_marked(site, BY_CALL, BY_NAME) and isinstance(site, tuple)}
    return not calls.isdisjoint(run.seen.fed_back)


def is_in_vain(run: Run, kept: Kept) -> bool:
    """Whether nothing in a whole program differentiates, nor any code that is not followed is handed what it could."""
    return kept.loop.whole and not run.seen.roots and not run.seen.lent


def whole(site: Site) -> Site:
    """What something is a part of, in the end."""
    while isinstance(site, tuple) and not is_marked(site, BY_CALL, BY_NAME):
        site = site[0]
    return site


def is_held_beside(run: Run, kept: Kept) -> bool:
    """Whether the loop gathers what is made of this, too, and that is differentiated behind it: it holds the graph."""
    if kept.loop.trains or kept.evaluating or not kept.one_pass:
        return False
    own = kept.holders | kept.table or frozenset({kept.value.site})
    if not own.isdisjoint(run.seen.placed | run.seen.given_back):
        return False  # it outlives what is differentiated
    # What was added to a sum is a part of its history.
    made = {each for each in kept.sites if isinstance(each, ast.Call)} if kept.how == "sum" else {kept.value.site}
    return bool(made) and any(
        each.at is not kept.at
        and each.is_graph
        and each.loop.node is kept.loop.node
        and made <= each.value.parts
        and not (each.parts if each.how == "sum" else each.holders).isdisjoint(run.seen.spent | run.seen.read_back)
        for each in run.keeper.found
    )
