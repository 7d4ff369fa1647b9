"""What is left in the end of what seemed to be kept: what nothing differentiates, empties or bounds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import IntEnum

from flake8_torchleak.lifetime.frames import EVALUATING, FORWARD, IN_VAIN, TRAINING
from flake8_torchleak.lifetime.inner import is_part
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.libraries import NAMED
from flake8_torchleak.lifetime.metering import is_loss
from flake8_torchleak.lifetime.nodes import walk
from flake8_torchleak.lifetime.run import Run
from flake8_torchleak.lifetime.showing import is_beside_output, is_given_back, is_of_unseen
from flake8_torchleak.lifetime.values import (
    BY_CALL,
    BY_LOSS,
    BY_NAME,
    ELEMENTS,
    INPUT,
    LEAF,
    Atom,
    Kind,
    Site,
    is_marked,
)
from flake8_torchleak.model.sums import same


class Worth(IntEnum):
    """How much is kept. LITTLE: for a part of a step, or one freed graph an epoch. NODES: of graphs that were freed.

    UNSURE: more, perhaps. ALL: what networks saved, for certain, and what an optimizer changed cannot use it any more.
    """

    LITTLE = 0
    NODES = 1
    UNSURE = 2
    ALL = 3


def left(run: Run) -> list[Kept]:
    """What is kept when all has been followed."""
    keeper = run.keeper
    excused = {site for each in keeper.found for site in each.holders if each.holders & run.seen.read_back}
    found: list[Kept] = []
    for each in keeper.found:
        if each.how == "batch" and not _is_tensor(run, each.value):
            continue
        if each.is_graph and each.sites & run.seen.refused:
            continue
        if each.how == "meter" and not is_loss(run, each):
            continue
        if each.how == "hook" and each.value.site in run.seen.unhooked:
            continue
        if each.loop.step == FORWARD and each.ids and all(isinstance(holder, ast.arg) for holder in each.ids):
            continue  # who calls the network gave what keeps it, and decides when that starts anew
        if each.loop.step == IN_VAIN and not _is_in_vain(run, each):
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


def _is_in_vain(run: Run, kept: Kept) -> bool:
    """Whether nothing in a whole program differentiates, nor any code that is not followed is handed what it could."""
    return kept.loop.whole and not run.seen.roots and not run.seen.lent


def is_spent(run: Run, kept: Kept) -> bool:
    """Whether what is kept was differentiated in its step: its graph is gone but for the nodes."""
    return not kept.sites.isdisjoint(run.seen.roots)


def is_certain(run: Run, kept: Kept) -> bool:
    """Whether nothing but what the program shows says that something large is kept."""
    value = kept.value
    if kept.is_graph and (_is_beside_loss(run, value) or is_of_unseen(kept) or kept.loop.of_rows):
        return False
    if kept.loop.step == FORWARD:
        return not kept.returned and not any(is_marked(site, INPUT) for site in value.parts)
    if kept.how == "batch":
        return value.kind is Kind.TENSOR or _is_used_as_tensor(run, value)
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
    shared = (site for site in history & run.seen.spent if not isinstance(_whole(site), ast.arg))
    if not named and (kept.evaluating or _is_in_vain(run, kept) or any(shared)):
        return True
    if not named and any(is_marked(site, BY_CALL) for site in history):
        handed_on = kept.holders & run.seen.escaped or (not kept.holders and kept.value.site in run.seen.placed)
        if kept.loop.optimizes or not handed_on:
            return True  # once the optimizer has changed the parameters, nobody can differentiate what is kept
    return kept.how == "sum" and any(is_marked(site, LEAF) for site in value.parts)


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


def is_freed(run: Run, kept: Kept) -> bool:
    """Whether what networks saved for what is kept is gone: it was differentiated, and only the graph's nodes stay."""
    if kept.value.site in run.seen.freed:
        return True
    calls = {site for site in run.seen.history(kept.value) if is_marked(site, BY_CALL, BY_NAME)}
    if calls:
        made = {site[1] for site in calls if isinstance(site, tuple)}
        parts = {site for site in kept.sites if isinstance(site, tuple) and _whole(site) in made}
        return calls | parts <= run.seen.freed
    roots = kept.sites & run.seen.roots
    return bool(roots) and roots <= run.seen.freed


def is_cut_elsewhere(run: Run, kept: Kept) -> bool:
    """Whether something not seen cuts the steps from each other, and perhaps what is kept: else the next would raise.

    A network is given what an earlier step made with it, and each step is differentiated through that call, by which
    the graph of the earlier one is gone.
    """
    if kept.how != "store" or not kept.value.past or not is_freed(run, kept):
        return False
    calls = {site[1] for site in kept.sites if is_marked(site, BY_CALL, BY_NAME) and isinstance(site, tuple)}
    return not calls.isdisjoint(run.seen.fed_back)


def _stays(run: Run, kept: Kept) -> bool:
    """Whether what keeps something is a variable's value or a container of the function, and goes nowhere else."""
    if kept.how == "sum" and not kept.holders:
        if kept.table:
            return kept.one_pass and kept.table.isdisjoint(run.seen.escaped | run.seen.placed)
        return isinstance(kept.target, ast.Name) and kept.value.site not in run.seen.placed
    return kept.local and kept.holders.isdisjoint(run.seen.escaped | run.seen.placed)


def _whole(site: Site) -> Site:
    """What something is a part of, in the end."""
    while isinstance(site, tuple) and not is_marked(site, BY_CALL, BY_NAME):
        site = site[0]
    return site


def is_small(run: Run, node: ast.AST) -> bool:
    """Whether little is kept where a statement was followed: without history, or for a few steps what was freed."""
    found = run.keeper.weighed.get(node)
    if not found:
        return False  # what has history is held by something: `rows += (loss,)`
    large = [atom for atom in found if not _is_beside_loss(run, atom)]
    if node in run.keeper.renewed:
        large = [atom for atom in large if (atom.parts | {atom.site}).isdisjoint(run.seen.spent)]
    return not large


def _is_beside_loss(run: Run, value: Atom) -> bool:
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


def _is_tensor(run: Run, atom: Atom) -> bool:
    """Whether a part of a batch is a tensor: by the default way to put batches together, by a use, or by its name."""
    return atom.kind is Kind.TENSOR or atom.held in run.seen.loaders or _is_used_as_tensor(run, atom)


def _is_used_as_tensor(run: Run, atom: Atom) -> bool:
    """The same, by a use or a name alone."""
    seen = run.seen
    return (
        not seen.tensors.isdisjoint(_around(atom.site, by_key=False))
        or not seen.named_tensors.isdisjoint(_around(atom.site, by_key=False))
        or any(atom.site in _around(site) for site in (*seen.tensors, *seen.named_tensors))
    )


def _around(site: Site, by_key: bool = True) -> Iterator[Site]:
    """A site, and those that it is a part of: a part of a tensor is a tensor, and what has a tensor in it holds one.

    by_key: parts under a key or a name count, too, which tensors do not have.
    """
    yield site
    while isinstance(site, tuple) and (by_key or not isinstance(site[1], str) or site[1] == ELEMENTS):
        site = site[0]
        yield site
