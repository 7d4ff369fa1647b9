"""Steps of a path from what runs to what it holds: closures, bound methods, generators, tracebacks, classes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from flake8_torchleak.recorder import frames
from flake8_torchleak.recorder.fields import Step, attributes, own_fields


def closures(value: Any) -> Iterator[Step]:
    """A function: what its closure holds, and its attributes."""
    names = value.__code__.co_freevars
    for name, cell in zip(names, value.__closure__ or ()):
        try:
            each = cell.cell_contents
        except ValueError:
            continue  # not bound yet
        yield f".<closure>.{name}", f".<closure>.{name}", each
    yield from attributes(value.__dict__)


def methods(value: Any) -> Iterator[Step]:
    """A bound method: what it is bound to."""
    yield ".__self__", ".__self__", value.__self__


def partials(value: Any) -> Iterator[Step]:
    """A partial: its function and arguments."""
    yield ".func", ".func", value.func
    yield ".args", ".args", value.args
    yield ".keywords", ".keywords", value.keywords


def generators(value: Any) -> Iterator[Step]:
    """A generator that is not exhausted: its locals."""
    if value.gi_frame is not None:
        for name, each in frames.local_values(value.gi_frame):
            yield f".<generator>.{name}", f".<generator>.{name}", each


def caught(value: Any) -> Iterator[Step]:
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
    yield from own_fields(value)


def classes(value: Any) -> Iterator[Step]:
    """A first-party class: what stands on it is shared by all that is made of it."""
    if frames.owner_of_file(_file_of(value)) == frames.OWN:
        yield from attributes(dict(type.__dict__["__dict__"].__get__(value)))


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or "<built in>"


def wrapped(value: Any) -> Iterator[Step]:
    """A static or class method: its function."""
    yield "", "", value.__func__
