"""How the processes of a program start: whether anything in it asks for others than forked ones."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds, text_of
from flake8_torchleak.model.importers import importers, naming

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_METHODS = ("spawn", "forkserver")
_ASKS = re.compile(
    r"(?:set_start_method\(|get_context\(|multiprocessing_context\s*=)\s*(?:method\s*=\s*)?[\"'](?:spawn|forkserver)[\"']"
)
"""`torch.multiprocessing.spawn` starts ranks, whose workers are forked: it does not ask."""
_MOST_USERS = 12
_MOST_FILES = 200


def are_spawned(module: Module) -> bool:
    """Whether the module, or one that imports it, asks for processes that are spawned, or forked from a server."""
    if _ASKS.search(module.source.text):
        return True
    if module.project is None or module.path is None:
        return False
    users = importers(str(module.path), (), _MOST_USERS)[0]
    return any(_asks(each, module.project.top) for each in users)


def may_be_spawned(module: Module) -> bool:
    """Whether any program of the project asks for it: a class can be found by a text, which no import shows."""
    if are_spawned(module):
        return True
    if module.project is None or module.path is None:
        return False
    top = module.project.top
    files = dict.fromkeys(each for name in ("multiprocessing", "torch") for each in naming(str(module.path), name))
    return any(_asks(each, top) for each in list(files)[:_MOST_FILES])


def _asks(path: str, top: str) -> bool:
    if os.path.splitext(path)[1] != ".py" or not any(holds(path, top, word) for word in _METHODS):
        return False
    return _ASKS.search(text_of(path, top) or "") is not None
