"""What a container that each worker copies costs, as far as the source tells: some megabytes, or what one notices.

By the measurements of TLK101 a path of 49 characters costs each worker 114 bytes, a record of two entries 216 and a
list of 11 numbers 450, what is in them not counted: 40,000 paths are 5 MB, a million records with text 0.5 GB. The
source hardly ever tells how many there are. What it tells is what they are, and who gets them: records for workers that
the project shows, and whatever grows with the data for a loader with workers that is given this very Dataset, are worth
a warning. The rest is as true, and small more often than not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flake8_torchleak.finding import Severity
from flake8_torchleak.model.values import CONTAINERS, Kind, Value

if TYPE_CHECKING:
    from flake8_torchleak.model.containers import Container
    from flake8_torchleak.model.module import Module

_PARSED = frozenset({Kind.JSON, Kind.PICKLE, Kind.INDEX})
"""What is read from a file of annotations as a whole: records, or an index over them."""
_LIGHT = frozenset({Kind.NUMBER, Kind.NONE})


def worth(module: Module, container: Container) -> Severity:
    """A warning where the source shows who pays for the copies, and that they are no trifle; else a note."""
    node = container.dataset.facts.node
    loaders = module.loaders
    if _is_unknown(container.value):
        return Severity.NOTE
    if loaders.gives_to_workers(node) or (holds_records(container.value) and loaders.shows_workers_for(node)):
        return Severity.WARNING
    return Severity.NOTE


def _is_unknown(value: Value) -> bool:
    """Whether nothing tells what the elements of a list are: of large arrays a worker copies the headers alone."""
    element = value.element
    return value.kind in (Kind.LIST, Kind.SET, Kind.DEQUE) and (element is None or element.kind is Kind.UNKNOWN)


def holds_records(value: Value) -> bool:
    """Whether each element of a container is an object of many parts, some of which are no numbers."""
    if value.kind in _PARSED:
        return True
    element = value.element
    if element is None:
        return False
    if element.kind in _PARSED or element.kind is Kind.INSTANCE:
        return True
    if element.kind not in CONTAINERS:
        return False
    parts = [*element.items, *(part for _, part in element.fields)]
    if element.element is not None:
        parts.append(element.element)
    return not parts or any(part.kind not in _LIGHT for part in parts)
