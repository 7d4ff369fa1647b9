"""What a container that each worker copies costs, as far as the source tells: some megabytes, or what one notices.

By the measurements of TLK101 a path of 49 characters costs each worker 114 bytes, a record of two entries 216 and a
list of 11 numbers 450, what is in them not counted: 40,000 paths are 5 MB, a million records with text 0.5 GB. The
source hardly ever tells how many there are: of 75 findings in repositories where somebody looked it up, 13 were worth
the change. An index of annotations, and records that each sample has one of, read from a file as a whole, for workers
that the project shows, are a warning: they are large, and so is the file, if it is a file of the data. What a pickle
holds nobody sees. One entry of each record, and what is only evaluated with, are small, as are the headers of arrays
and a table of numbers, of which Python keeps one object up to 256; what samples read only behind a flag that is off by
default is seldom there, and workers that only an option asks for are not there by default. Records that are made for
each annotation of an index are as many and as large as what it holds. Where every loader goes through the samples in
order, in programs that only evaluate, each worker copies its own share of the records, and all together no more than
one copy. All else is as true, and small more often than not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.annotations import gives_numbers, is_made_of_annotations
from flake8_torchleak.model.importers import importers
from flake8_torchleak.model.leftout import is_left_out, is_unset
from flake8_torchleak.model.reading import reader
from flake8_torchleak.model.values import Kind, Value
from flake8_torchleak.wording import UNASKED
from flake8_torchleak.words import holds_any

if TYPE_CHECKING:
    from flake8_torchleak.model.containers import Container
    from flake8_torchleak.model.dataset import DatasetFacts
    from flake8_torchleak.model.module import Module

_EVALUATING = (".eval()", "no_grad", "inference_mode")
_TRAINING = ("backward(", "optim", "Trainer", ".fit(", "training_step")
"""Words of programs that evaluate, and that train."""
_MOST_USERS = 12
_SINGLE = frozenset({Kind.STRING, Kind.PATH, Kind.NUMBER})
_PARSED = frozenset({Kind.JSON, Kind.INDEX})
"""What is read from a file of annotations as a whole: records, or an index over them."""
_OF_EVALUATION = re.compile(
    r"(?:(?:^|_)(?:eval|val|valid|validation|test)|(?:^|_|(?<=[a-z]))(?:Eval|Val|Valid|Validation|Test))(?=_|[A-Z]|$)"
)
"""A word in the name of a class."""


def why_little(module: Module, container: Container) -> str:
    """Why a container is a note: it is one but for parsed records that go to workers, or where workers are assumed."""
    if module.config.assume_workers == "yes" and not _is_unknown(container.value) and not container.arrays:
        return ""
    records = _is_parsed(container.value) and not container.of_parts and not container.arrays
    owner, made = container.dataset.owner, is_made_of_annotations(module, container)
    counted = container.per_sample or container.value.kind is Kind.INDEX
    shown = module.loaders.shows_workers_for(owner.facts.node) or (made and module.reach.meets_shown_workers(owner))
    if not made and not (records and counted and not gives_numbers(module, container)):
        number = f"it matters with many entries: a million cost each worker {_cost(container)}"
        return number if shown or module.reach.meets_shown_workers(owner) else f"{number}; {_NO_WORKERS}"
    if _OF_EVALUATION.search(container.dataset.owner.facts.node.name):
        return _EVALUATES
    if not shown:
        return _NO_WORKERS
    if module.served.has_none_by_default(owner):
        return UNASKED
    if container.value.kind is not Kind.INDEX and module.served.goes_in_order(owner, _says_evaluation):
        return _EVALUATES
    name = container.name.removeprefix("self.")
    if is_left_out(module, container.dataset, name) or is_unset(module, container.dataset, name):
        return "it is read only where an option asks for it"
    return _EVALUATES if _is_for_evaluation(module) else ""


_NO_WORKERS = "no Python file in sight gives it to a loader with workers"
_EVALUATES = "who evaluates goes through it once, and all workers together copy it once"


def _cost(container: Container) -> str:
    """What a million entries cost a worker, as measured: 32 bytes for a number, 113 for a text of 49 characters, 96 for
    the header of an array, 178 to 435 for small records."""
    element = container.value.element
    kind = element.kind if element is not None else Kind.UNKNOWN
    if kind is Kind.NUMBER:
        return "0.03 GB"
    if kind in _SINGLE or kind is Kind.ARRAY or container.arrays:
        return "0.1 GB"
    return "0.1 to 0.4 GB"


def may_be_warned_of(module: Module, dataset: DatasetFacts) -> bool:
    """Whether what a Dataset holds may be more than a note: a loader with workers is seen that may get it."""
    if module.config.assume_workers == "yes" or module.loaders.shows_workers_for(dataset.owner.facts.node):
        return True
    return module.reach.meets_shown_workers(dataset.owner)


def is_read_once(module: Module, container: Container) -> bool:
    """Whether a program only evaluates with a list of texts or numbers, once, and from its start to its end.

    Then each worker reads its share of the elements, and all workers together copy the list once.
    """
    element = container.value.element
    parts = (element.items or (element,)) if element is not None else ()
    if container.value.kind not in (Kind.LIST, Kind.TUPLE) or not parts:
        return False
    if not all(each.kind in _SINGLE for each in parts) or module.config.assume_workers == "yes":
        return False
    return module.served.goes_in_order(container.dataset.owner) and _is_for_evaluation(module)


def _is_for_evaluation(module: Module) -> bool:
    """Whether a module, and those that import it, evaluate, and none of them trains: one pass, and it is over."""
    if module.project is None or module.path is None:
        users = []
    else:
        users = importers(str(module.path), (), _MOST_USERS)[0]

    def says(words: tuple[str, ...]) -> bool:
        own = holds_any(module.source.text, words)
        return own or any(reader().holds(each, word) for each in users for word in words)

    return says(_EVALUATING) and not says(_TRAINING)


def _says_evaluation(user: Module) -> bool:
    """Whether the file that makes a loader evaluates, and does not train."""
    text = user.source.text
    return holds_any(text, _EVALUATING) and not holds_any(text, _TRAINING)


def _is_unknown(value: Value) -> bool:
    """Whether nothing tells what the elements of a list are: of large arrays a worker copies the headers alone."""
    element = value.element
    return value.kind in (Kind.LIST, Kind.SET, Kind.DEQUE) and (element is None or element.kind is Kind.UNKNOWN)


def _is_parsed(value: Value) -> bool:
    """Whether it holds what a file of annotations does, as it is, or by key."""
    return value.kind in _PARSED or (value.element is not None and value.element.kind in _PARSED)
