"""How bad it is that something is kept: what was followed is an error, unless something speaks against it."""

from __future__ import annotations

import ast

from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime.certainty import is_certain
from flake8_torchleak.lifetime.follow import Followed
from flake8_torchleak.lifetime.graphs import is_cut_elsewhere, is_freed, is_held_beside
from flake8_torchleak.lifetime.kept import Kept
from flake8_torchleak.lifetime.worth import Worth, is_let_go, is_of_micro_steps, is_of_one_update, is_small
from flake8_torchleak.model.firstparty import text_of
from flake8_torchleak.model.freezing import may_be_frozen, may_lose_parameters, seems_taught
from flake8_torchleak.model.minor import FROZEN, OLD, PLAIN_TENSORS
from flake8_torchleak.model.module import Module
from flake8_torchleak.model.olden import is_ended, is_of_old_program
from flake8_torchleak.model.tree import FUNCTIONS
from flake8_torchleak.releases import in_evaluation


def severity_of(kept: Kept, found: Followed, known: Worth, module: Module) -> tuple[Severity, str]:
    """How bad it is, and why it is a note, if it is one."""
    why = _why_little(kept, found, known, module)
    if why:
        return Severity.NOTE, why
    if kept.how == "batch" and kept.value.held not in found.run.seen.loaders:
        return Severity.WARNING, ""  # who says that there are workers is told
    freed, renewed = known is Worth.NODES or is_freed(found.run, kept), kept.at in found.run.keeper.renewed
    if kept.how == "error" or (kept.is_graph and (freed or renewed)):
        return Severity.WARNING, ""
    return Severity.ERROR, ""


def _why_little(kept: Kept, found: Followed, known: Worth, module: Module) -> str:
    """Why what is kept is a note: it may be little, or it rests on more than the program shows."""
    run = found.run
    if is_ended(module.source.text) or (kept.is_graph and _is_old(kept, module)):
        return OLD
    if known is Worth.LITTLE or (kept.is_graph and is_small(run, kept.node)):
        return "it is little: it stays small, or is of one epoch"
    if _is_decoded(kept, found, module) or _is_of_round(kept, module):
        return "it is kept for one sample, or one round, and then made anew"
    if kept.how == "batch" and (kept.at in run.keeper.moved or kept.value.held in run.seen.pinned):
        return "the batch may be moved or pinned: then it is a copy"
    if kept.how == "batch" and kept.value.site in run.seen.entries:
        return "of an array of one dimension an entry is a number, which is a copy"
    if not is_certain(run, kept) or is_cut_elsewhere(run, kept):
        return "it is not certain that it keeps a graph: names, or code that is not seen, say so"
    if is_of_one_update(run, kept):
        return "it is kept for one update"
    if is_held_beside(run, kept):
        return "what is differentiated behind the loop holds the same graph"
    if kept.how == "state" and kept.at not in run.rebinding.of_layers and not kept.sites.isdisjoint(run.seen.freed):
        return "something may cut it off: else the next step would fail"
    if kept.how == "batch" and kept.value.held not in run.seen.loaders:
        return "" if module.config.assume_workers == "yes" else "this file shows no loader with workers that gives it"
    if kept.is_graph and _may_be_frozen(kept, module):
        return FROZEN
    if kept.is_graph and may_lose_parameters(module):
        return PLAIN_TENSORS
    if kept.how == "batch" and is_let_go(run, kept):
        return "it is gone with the epoch, which fails where that has more batches than files may be open"
    if _is_collected(kept):
        return "it is gone with the epoch"
    freed, renewed = known is Worth.NODES or is_freed(run, kept), kept.at in run.keeper.renewed
    if kept.is_graph and freed and (renewed or kept.of_update or is_of_micro_steps(run, kept)):
        return "backward frees the activations, and it starts anew after some steps"
    if kept.how == "store" and freed and kept.anew and is_let_go(run, kept):
        return "backward frees the activations, and what keeps it is made anew for each pass"
    return ""


def _may_be_frozen(kept: Kept, module: Module) -> bool:
    """Whether an evaluation keeps it, of a network that may be frozen: a teacher, or one that something freezes."""
    found = module.evaluation(kept.node)
    if found is not None and seems_taught(module, found.call):
        return True
    return kept.evaluating and may_be_frozen(module, found.call if found is not None else None)


def _is_old(kept: Kept, module: Module) -> bool:
    """Whether a program of before PyTorch 0.4 keeps it, whose inputs may build no graph.

    All files are asked only for what an evaluation keeps, or where this file, or the one that keeps it, makes
    `Variable`s.
    """
    texts = [module.source.text]
    if not kept.place.is_own and module.project is not None:
        texts.append(text_of(kept.place.path, module.project.top) or "")
    evaluates = kept.evaluating or in_evaluation(module, kept.node) is not None
    return (evaluates or any("Variable(" in each for each in texts)) and is_of_old_program(module)


def _is_of_round(kept: Kept, module: Module) -> bool:
    """Whether a comprehension in a loop gathers it: a new list in each round, of what there is in that round."""
    around = module.tree.parents.get(kept.loop.node) if isinstance(kept.loop.node, ast.comprehension) else None
    return around is not None and bool(module.tree.loops(around))


def _is_collected(kept: Kept) -> bool:
    """Whether a framework keeps it until the epoch ends, and drops it then; Lightning 1.4 and 1.5 cut it off."""
    return any(isinstance(each, FUNCTIONS) for each in kept.holders)


def _is_decoded(kept: Kept, found: Followed, module: Module) -> bool:
    """Whether a statement keeps what a loop makes of one sample, step by step of what it made before."""
    loops = module.loops.step_loops(kept.node)[:1] if kept.node in module.tree.parents else []
    return kept.is_graph and any(found.run.seen.decoding.get(loop, False) for loop in loops)
