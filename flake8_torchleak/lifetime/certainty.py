"""Whether nothing but the program says that something is kept: no name, and no code that nobody can see."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flake8_torchleak.lifetime.batches import is_used_as_tensor
from flake8_torchleak.lifetime.frames import FORWARD
from flake8_torchleak.lifetime.graphs import is_in_vain, is_spent, whole
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.libraries import NAMED
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.showing import is_beside_output, is_given_back, is_of_unseen
from flake8_torchleak.lifetime.values import BY_CALL, BY_LOSS, BY_NAME, INPUT, LEAF, Atom, Kind, Site, is_marked
from flake8_torchleak.model import hints
from flake8_torchleak.model.sums import same


def is_certain(run: Run, kept: Kept) -> bool:
    """Whether nothing but what the program shows says that something large is kept."""
    value = kept.value
    if kept.is_graph and (is_beside_loss(run, value) or is_of_unseen(kept) or kept.loop.of_rows or _is_figure(value)):
        return False
    if kept.is_graph and kept.loop.of_round and kept.local and kept.one_pass:
        return False  # made anew in each round, of parts of one input
    if kept.loop.step == FORWARD:
        return not kept.returned and not any(is_marked(site, INPUT) for site in value.parts)
    if kept.how == "batch":
        return value.kind is Kind.TENSOR or is_used_as_tensor(run, value)
    if kept.how in ("error", "state", "hook") or is_spent(run, kept):
        return True
    if is_beside_output(run, kept) or is_given_back(run, kept):
        return False
    history = run.seen.history(value)
    supposed = value.made == NAMED and not _is_term(run, value)
    terms = kept.sites & run.seen.named_terms
    named = (
        supposed or _is_by_name(history) or _is_by_loss(run, kept) or not all(_is_of_loss(run, each) for each in terms)
    )
    shared = (site for site in history & run.seen.spent if not isinstance(whole(site), ast.arg))
    if not named and (kept.evaluating or is_in_vain(run, kept) or any(shared)):
        return True
    if not named and any(is_marked(site, BY_CALL) for site in history):
        handed_on = kept.holders & run.seen.escaped or (not kept.holders and kept.value.site in run.seen.placed)
        if kept.loop.optimizes or not handed_on:
            return True  # once the optimizer has changed the parameters, nobody can differentiate what is kept
    return kept.how == "sum" and any(is_marked(site, LEAF) for site in value.parts)


def _is_figure(value: Atom) -> bool:
    """Whether something is what an output calls a metric or a count: it may be no tensor."""
    key = value.site.slice if isinstance(value.site, ast.Subscript) else None
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and hints.is_reported(key.value)


def _is_term(run: Run, value: Atom) -> bool:
    """Whether something is added to, or multiplied with, what is differentiated.

    A call that speaks of a loss and was given what has history made it: with this, that is more than a name.
    """
    spent = (sides for node, sides in run.seen.operands.items() if node in run.seen.spent)
    return any(atom.site == value.site for sides in spent for side in sides for atom in side)


def _is_of_loss(run: Run, term: Site) -> bool:
    """Whether a term is a part of what a loss gives that was handed what has history: `loss, parts = loss_of(out)`."""
    return isinstance(term, tuple) and bool(term) and term[0] in run.seen.of_losses


def _is_by_loss(run: Run, kept: Kept) -> bool:
    """Whether what is kept was made by what is a loss by its name alone, was given what learns, and may train it.

    Then it gives a number, perhaps: `step = LossCompute(net.head, optimizer)`, `total += step(net(x), y)`.
    """
    return any(is_marked(site, BY_LOSS) and site not in run.seen.spent for site in kept.value.parts)


def _is_by_name(history: Iterable[Site]) -> bool:
    """Whether a call is taken for one of a network by a name alone: what it gave was not differentiated later."""
    marked = [site for site in history if is_marked(site, BY_NAME, BY_CALL)]
    certain = {site[1] for site in marked if isinstance(site, tuple) and is_marked(site, BY_CALL)}
    return any(isinstance(site, tuple) and site[1] not in certain for site in marked)


def is_beside_loss(run: Run, value: Atom) -> bool:
    """Whether something is of what a call gives beside the loss: numbers for a report, as a rule, and detached.

    Of what a network gives beside it the parts are outputs, and only what these hold may be for a report.
    """
    roots = run.seen.roots
    for site in (*value.parts, value.site):
        beside = site
        while isinstance(beside, tuple) and not isinstance(beside[0], str):
            base = beside[0]
            of_network = {(BY_CALL, base), (BY_NAME, base)} & value.parts
            if beside not in roots and (beside is not site or not of_network):
                if any(isinstance(each, tuple) and each[0] is base for each in roots):
                    return True
            beside = base
    return _is_held_beside(run, value) or _is_attribute_beside(run, value)


def _is_attribute_beside(run: Run, value: Atom) -> bool:
    """Whether something is read of an object that nobody can see, beside the attribute that is differentiated."""
    if any(is_marked(site, BY_CALL, BY_NAME) for site in value.parts):
        return False
    read = [each for each in value.parts - run.seen.roots if isinstance(each, ast.Attribute)]
    roots = [each for each in run.seen.roots if isinstance(each, ast.Attribute)] if read else []
    return any(each.attr != root.attr and same(each.value, root.value) for each in read for root in roots)


def _is_held_beside(run: Run, value: Atom) -> bool:
    """Whether something is read of a part of what a network gives, of which another part is differentiated."""
    site = value.site
    if not isinstance(site, (ast.Subscript, ast.Attribute)) or site.value not in value.parts:
        return False
    for part in value.parts - run.seen.spent:
        if isinstance(part, tuple) and not {(BY_CALL, part[0]), (BY_NAME, part[0])}.isdisjoint(value.parts):
            return any(isinstance(each, tuple) and each[0] is part[0] for each in run.seen.spent)
    return False
