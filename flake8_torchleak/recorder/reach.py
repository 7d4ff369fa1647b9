"""What an object leads to: its attributes, elements, closure, frames, each with the text of that step in a path.

Asked for many thousands of objects in a census, so the way to look is remembered by type. Types are asked, never
instances: `isinstance` wakes lazy proxies. Nothing of the program runs: no properties, no `__getattr__`, no `__iter__`.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import torch

from flake8_torchleak.recorder import graphs
from flake8_torchleak.recorder.fields import PLAIN, Step, ends, leads_on, own_fields
from flake8_torchleak.recorder.running import (
    caught,
    classes,
    closures,
    generators,
    methods,
    partials,
    wrapped,
)

Reach = Callable[[Any], Iterator[Step]]

MANY = 64
"""Sequences and dicts above this length are looked into only if some of their elements promise something."""
MOST = 20_000
"""The elements that are looked at in one container: its last ones, for what is kept comes last."""
NAMED = 16
"""A dict with more entries than this is one of records, not of names: its keys are not told apart."""

_ENDS: tuple[type, ...] = (
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    bool,
    type(None),
    range,
    slice,
    ModuleType,
    CodeType,
    BuiltinFunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    WrapperDescriptorType,
    torch.dtype,
    torch.device,
    torch.Generator,
    torch.UntypedStorage,
    MappingProxyType,
)
_END_MODULES = (
    *("numpy", "pandas", "pyarrow", "matplotlib", "argparse", "threading", "_thread", "_io", "re", "enum"),
    # What runs a program's tests holds all of them, with their cases and reports.
    *("pytest", "_pytest", "pluggy", "hypothesis", "coverage"),
)

_by_type: dict[type, Reach | None] = {}


def reach(kind: type) -> Reach | None:
    """How to look into objects of a type; None where nothing is to be found."""
    try:
        return _by_type[kind]
    except KeyError:
        found = _by_type[kind] = _reach(kind)
        if found is None and kind.__module__ != "numpy":
            ends.add(kind)
        return found


def _reach(kind: type) -> Reach | None:
    if issubclass(kind, _ENDS) or kind.__module__.partition(".")[0] in _END_MODULES:
        return None
    for base, look in _LOOKS:
        if issubclass(kind, base):
            return look
    return own_fields


def _sampled(size: int) -> list[int]:
    """Positions spread over a long container, and its last ones."""
    return [*range(0, size, max(1, size // 32)), *range(size - 4, size)]


def _promises(value: Any, depth: int = 3) -> bool:
    """Whether a tensor with history, or memory that came from another process, is in a value or close below it.

    Asked for some elements of a long container, so that a Dataset's records and what was detached is passed over.
    """
    kind = type(value)
    if issubclass(kind, torch.Tensor):
        return graphs.node_of(value) is not None or (value.device.type == "cpu" and value.is_shared())
    look = reach(kind)
    if look is None:
        return kind.__module__ == "numpy" and getattr(value, "base", None) is not None
    if not depth:
        return False
    if issubclass(kind, (list, tuple)):
        # Not by `look`: it would ask again for the elements of a long one.
        inside = [value[at] for at in _sampled(len(value))[-16:]] if len(value) > 4 else list(value)
    elif issubclass(kind, dict):
        inside = list(islice(dict.values(value), 16))
    else:
        inside = [each for _, _, each in islice(look(value), 16)]
    return any(_promises(each, depth - 1) for each in inside)


def _sequence(value: Any) -> Iterator[Step]:
    size = len(value)
    if size > MANY and not any(_promises(value[at]) for at in _sampled(size)):
        return
    for at in range(max(0, size - MOST), size):
        each = value[at]
        kind = type(each)
        # As `leads_on`, but without a call.
        if kind not in ends and (kind not in PLAIN or each):
            yield f"[{at}]", "[*]", each


def _named_tuple(value: Any) -> Iterator[Step]:
    names = getattr(type(value), "_fields", None)
    if names is None:
        yield from _sequence(value)
        return
    for name, each in zip(names, tuple.__iter__(value)):
        yield f".{name}", f".{name}", each


def _deque(value: Any) -> Iterator[Step]:
    for at, each in enumerate(list(deque.__iter__(value))[-MOST:]):
        yield f"[{at}]", "[*]", each


def _set(value: Any) -> Iterator[Step]:
    if len(value) <= MOST:
        for each in list(value):
            yield "{...}", "{*}", each


def _dict(value: Any) -> Iterator[Step]:
    size = len(value)
    items = list(dict.items(value))
    if size > MANY and not any(_promises(items[at][1]) for at in _sampled(size)):
        return
    for key, each in items[-MOST:]:
        if not leads_on(each):
            continue
        text = f"[{key!r}]" if isinstance(key, (str, int, float, bool)) and len(str(key)) < 60 else "[...]"
        yield text, text if size <= NAMED and isinstance(key, str) else "[*]", each


def _module(value: Any) -> Iterator[Step]:
    """An nn.Module: children, parameters and buffers under the names that a program has for them."""
    for name, each in list(value.__dict__.items()):
        kind = type(each)
        # As `leads_on`, but without a call: a model of a hundred layers has some two thousand attributes.
        if kind in ends or (kind in PLAIN and not each):
            continue
        if name in ("_modules", "_parameters", "_buffers"):
            for inner, part in list(each.items()):
                step = f"[{inner}]" if inner.isdigit() else f".{inner}"
                yield step, step, part
        else:
            step = f".{name}"
            yield step, step, each


def _mapping_and_fields(value: Any) -> Iterator[Step]:
    yield from _dict(value)
    if type(value) is not dict:
        yield from own_fields(value)


_LOOKS: tuple[tuple[Any, Reach], ...] = (
    (torch.nn.Module, _module),
    (dict, _mapping_and_fields),
    (list, _sequence),
    (tuple, _named_tuple),
    (deque, _deque),
    ((set, frozenset), _set),
    (FunctionType, closures),
    (MethodType, methods),
    (functools.partial, partials),
    (GeneratorType, generators),
    (BaseException, caught),
    ((staticmethod, classmethod), wrapped),
    (type, classes),
)
