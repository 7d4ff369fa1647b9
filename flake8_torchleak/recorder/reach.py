"""What an object leads to: its attributes, elements, closure, frames, each with the text of that step in a path.

Asked for many thousands of objects in a census, so the way to look is remembered by type. Types are asked, never
instances: `isinstance` wakes lazy proxies. Nothing of the program runs: no properties, no `__getattr__`, no `__iter__`.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict, deque
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

from flake8_torchleak.recorder import frames, graphs

Step = tuple[str, str, Any]
"""A part of a path (`.rows`, `[17]`), the same for all parts of its kind (`[*]`), and the object there."""
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
_ends: set[type] = {int, float, str, bool, bytes, type(None)}
"""Types that lead nowhere, as they are met: most of what a walk looks at."""
_PLAIN = (dict, OrderedDict, list, tuple, set)
"""Containers whose truth costs nothing; empty ones are passed over: a module alone has a dozen."""


def leads_on(value: Any) -> bool:
    """Whether there may be something to find in a value, as far as can be told at a glance."""
    kind = type(value)
    return kind not in _ends and (kind not in _PLAIN or bool(value))


def reach(kind: type) -> Reach | None:
    """How to look into objects of a type; None where nothing is to be found."""
    try:
        return _by_type[kind]
    except KeyError:
        found = _by_type[kind] = _reach(kind)
        if found is None and kind.__module__ != "numpy":
            _ends.add(kind)
        return found


def _reach(kind: type) -> Reach | None:
    if issubclass(kind, _ENDS) or kind.__module__.partition(".")[0] in _END_MODULES:
        return None
    for base, look in _LOOKS:
        if issubclass(kind, base):
            return look
    return _fields


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
        if leads_on(each := value[at]):
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


def _attributes(names: dict[str, Any]) -> Iterator[Step]:
    for name, each in list(names.items()):
        if leads_on(each):
            step = f".{name}"
            yield step, step, each


def _module(value: Any) -> Iterator[Step]:
    """An nn.Module: children, parameters and buffers under the names that a program has for them."""
    for name, each in list(value.__dict__.items()):
        kind = type(each)
        # As `leads_on`, but without a call: a model of a hundred layers has some two thousand attributes.
        if kind in _ends or (kind in _PLAIN and not each):
            continue
        if name in ("_modules", "_parameters", "_buffers"):
            for inner, part in list(each.items()):
                step = f"[{inner}]" if inner.isdigit() else f".{inner}"
                yield step, step, part
        else:
            step = f".{name}"
            yield step, step, each


def _fields(value: Any) -> Iterator[Step]:
    """Any other object: its `__dict__` and its slots."""
    try:
        names = object.__getattribute__(value, "__dict__")
    except AttributeError:
        names = None
    if type(names) is dict:
        yield from _attributes(names)
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


def _mapping_and_fields(value: Any) -> Iterator[Step]:
    yield from _dict(value)
    if type(value) is not dict:
        yield from _fields(value)


def _function(value: Any) -> Iterator[Step]:
    names = value.__code__.co_freevars
    for name, cell in zip(names, value.__closure__ or ()):
        try:
            each = cell.cell_contents
        except ValueError:
            continue  # not bound yet
        yield f".<closure>.{name}", f".<closure>.{name}", each
    yield from _attributes(value.__dict__)


def _method(value: Any) -> Iterator[Step]:
    yield ".__self__", ".__self__", value.__self__


def _partial(value: Any) -> Iterator[Step]:
    yield ".func", ".func", value.func
    yield ".args", ".args", value.args
    yield ".keywords", ".keywords", value.keywords


def _generator(value: Any) -> Iterator[Step]:
    if value.gi_frame is not None:
        for name, each in frames.local_values(value.gi_frame):
            yield f".<generator>.{name}", f".<generator>.{name}", each


def _exception(value: Any) -> Iterator[Step]:
    """An exception with the frames of its traceback, and the one that it came from."""
    trace = value.__traceback__
    while trace is not None:
        if frames.owner(trace.tb_frame.f_code) != frames.INTERNAL:
            name = frames.name_of(trace.tb_frame.f_code)
            for local, each in frames.local_values(trace.tb_frame):
                yield f".<traceback>.{name}.{local}", f".<traceback>.{name}.{local}", each
        trace = trace.tb_next
    yield ".args", ".args", value.args
    yield ".__context__", ".__context__", value.__context__
    yield from _fields(value)


def _class(value: Any) -> Iterator[Step]:
    """A first-party class: what stands on it is shared by all that is made of it."""
    if frames.owner_of_file(_file_of(value)) == frames.OWN:
        yield from _attributes(dict(type.__dict__["__dict__"].__get__(value)))


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or "<built in>"


def _wrapped(value: Any) -> Iterator[Step]:
    yield "", "", value.__func__


_LOOKS: tuple[tuple[Any, Reach], ...] = (
    (torch.nn.Module, _module),
    (dict, _mapping_and_fields),
    (list, _sequence),
    (tuple, _named_tuple),
    (deque, _deque),
    ((set, frozenset), _set),
    (FunctionType, _function),
    (MethodType, _method),
    (functools.partial, _partial),
    (GeneratorType, _generator),
    (BaseException, _exception),
    ((staticmethod, classmethod), _wrapped),
    (type, _class),
)
