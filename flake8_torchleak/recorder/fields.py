"""Steps of a path from an object to what it has under names: attributes, slots.

Nothing of the program runs: no properties, no `__getattr__`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

Step = tuple[str, str, Any]
"""A part of a path (`.rows`, `[17]`), the same for all parts of its kind (`[*]`), and the object there."""

ends: set[type] = {int, float, str, bool, bytes, type(None)}
"""Types that lead nowhere, as they are met: most of what a walk looks at."""
PLAIN = (dict, OrderedDict, list, tuple, set)
"""Containers whose truth costs nothing; empty ones are passed over: a module alone has a dozen."""


def leads_on(value: Any) -> bool:
    """Whether there may be something to find in a value, as far as can be told at a glance."""
    kind = type(value)
    return kind not in ends and (kind not in PLAIN or bool(value))


def attributes(names: dict[str, Any]) -> Iterator[Step]:
    """Attributes as they stand in a `__dict__`."""
    for name, each in list(names.items()):
        if leads_on(each):
            step = f".{name}"
            yield step, step, each


def own_fields(value: Any) -> Iterator[Step]:
    """Any other object: its `__dict__` and its slots."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        names = None
    if type(names) is dict:
        yield from attributes(names)
    for name in _slots(type(value)):
        try:
            each = object.__getattribute__(value, name)
        except AttributeError:
            continue
        yield f".{name}", f".{name}", each


_slot_names: dict[type, tuple[str, ...]] = {}


def _slots(kind: type) -> tuple[str, ...]:
    """The slots of a type and its bases, remembered."""
    if kind not in _slot_names:
        names: list[str] = []
        for base in kind.__mro__:
            own = base.__dict__.get("__slots__", ())
            names += [own] if isinstance(own, str) else own
        _slot_names[kind] = tuple(name for name in names if not name.startswith("__"))
    return _slot_names[kind]
