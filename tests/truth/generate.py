"""Programs by number: the same seed and number make the same program."""

from __future__ import annotations

import random

from tests.truth import caches, carried, datasets, others, programs, samples
from tests.truth.case import Case, case
from tests.truth.draft import Choices
from tests.truth.forms import FORMS
from tests.truth.holders import MAKERS

Cell = tuple[str, str, str]
"""Kind, holder, form."""

_KINDS = {
    **{kind: (programs.training, tuple(MAKERS), FORMS) for kind in programs.KINDS},
    "hidden state": (carried.hidden, carried.CARRIED, carried.CARRIED_FORMS),
    "buffer": (carried.buffer, carried.BUFFERS, carried.BUFFER_FORMS),
    "exception": (others.exception, others.EXCEPTIONS, others.EXCEPTION_FORMS),
    "loader": (others.loader, others.LOADERS, others.LOADER_FORMS),
    "hook": (others.hook, others.HOOKS, others.HOOK_FORMS),
    "figure": (others.figure, others.FIGURES, others.FIGURE_FORMS),
    "records": (datasets.records, datasets.RECORDS, datasets.RECORD_FORMS),
    "cache": (caches.cache, caches.CACHES, caches.CACHE_FORMS),
}
SAMPLE = "sample"

CELLS: tuple[Cell, ...] = (
    *((kind, holder, form) for kind, (_, holders, forms) in _KINDS.items() for holder in holders for form in forms),
    *((SAMPLE, holder, form) for holder in samples.SAMPLES for form in samples.SAMPLE_FORMS),
)
"""The cells that figures are made of."""


def program(seed: int, number: int, cell: Cell | None = None) -> Case:
    """Program `number`: of that cell, or of each of CELLS in turn, in an order that the seed shuffles."""
    kind, holder, form = cell or _shuffled(seed)[number % len(CELLS)]
    rng = random.Random(f"{seed}:{number}:{kind}:{holder}:{form}")
    if kind == SAMPLE:
        made, chosen = samples.samples(rng, holder, form)
        return case(number, made.files, chosen)
    draft: Choices = _KINDS[kind][0](rng, kind, holder, form)
    draft.cell.update(names=draft.names.style, stage=draft.stage)
    return case(number, draft.program().files, draft.cell)


def _shuffled(seed: int) -> list[Cell]:
    if seed not in _orders:
        _orders[seed] = list(CELLS)
        random.Random(seed).shuffle(_orders[seed])
    return _orders[seed]


_orders: dict[int, list[Cell]] = {}
