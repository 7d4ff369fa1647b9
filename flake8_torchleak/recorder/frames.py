"""Whose code a frame runs: torch's (or ours), a library's, or the user's own; and what its locals are."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

import torch

import flake8_torchleak
from flake8_torchleak.recorder.result import Site

INTERNAL, LIBRARY, OWN = 0, 1, 2
"""Torch's code or ours; other installed code; first-party code."""

_HIDDEN = tuple(
    os.path.join(os.path.dirname(os.path.abspath(each)), "")
    for each in (str(torch.__file__), str(flake8_torchleak.__file__))
)
_INSTALLED = tuple({os.path.join(path, "") for path in sysconfig.get_paths().values()})
_MARKS = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))

_KEPT_BY_FRAMES = sys.version_info < (3, 13)
_owners: dict[str, int] = {}
_adopted: list[str] = []


def adopt(folder: str) -> None:
    """Take what lies below a folder for first-party, wherever it is installed."""
    _adopted.append(os.path.join(folder, ""))
    _owners.clear()
    known.clear()


def owner_of_file(path: str) -> int:
    """Whose a file of source is. What has no file (`exec`, a console) is first-party."""
    found = _owners.get(path)
    if found is None:
        found = _owners[path] = _owner(path)
    return found


def _owner(path: str) -> int:
    if path.startswith("<frozen"):
        return LIBRARY
    if path.startswith("<"):
        return OWN
    place = os.path.abspath(path)
    if place.startswith(_HIDDEN):
        return INTERNAL
    if place.startswith(tuple(_adopted)) and not any(mark in place[len(_longest(place)) :] for mark in _MARKS):
        return OWN
    if place.startswith(_INSTALLED) or any(mark in place for mark in _MARKS):
        return LIBRARY
    return OWN


def _longest(place: str) -> str:
    """The innermost adopted folder that a path lies in: an environment below it is not adopted with it."""
    return max((each for each in _adopted if place.startswith(each)), key=len)


known: dict[CodeType, int] = {}
"""Whose code is that was asked for: to be read where a call of `owner` costs too much."""


def owner(code: CodeType) -> int:
    """Whose code it is, remembered by code object: asked for every operation."""
    found = known.get(code)
    if found is None:
        found = known[code] = owner_of_file(code.co_filename)
    return found


def site(code: CodeType, line: int) -> Site:
    """The place of a line of code."""
    return Site(code.co_filename, line, name_of(code))


def name_of(code: CodeType) -> str:
    """The function's name as a person writes it: `Trainer.fit`; the plain name before Python 3.11."""
    qualified: str = getattr(code, "co_qualname", code.co_name)
    return qualified.rpartition("<locals>.")[2]


def stack(innermost: FrameType | None) -> list[FrameType]:
    """The frames from the outermost first-party one inwards, without torch's and ours."""
    frames: list[FrameType] = []
    frame = innermost
    while frame is not None:
        if owner(frame.f_code) != INTERNAL:
            frames.append(frame)
        frame = frame.f_back
    while frames and owner(frames[-1].f_code) != OWN:
        frames.pop()
    frames.reverse()
    return frames


def own_site(innermost: FrameType | None) -> Site | None:
    """The innermost first-party line that runs; None if there is none."""
    own = [each for each in stack(innermost) if owner(each.f_code) == OWN]
    return site(own[-1].f_code, own[-1].f_lineno) if own else None


def local_values(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """The names and values of a function's locals; nothing for a module or a class body.

    Before Python 3.13 a frame keeps the dict that it hands out, and with it the values: memory that the program let
    go of would stay until the next look. So that dict is emptied again; Python fills it anew whenever it is asked.
    """
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return
    seen: Mapping[str, Any] = frame.f_locals
    pairs = list(seen.items())
    if _KEPT_BY_FRAMES:
        frame.f_locals.clear()
    yield from pairs
