"""Code of the time before PyTorch 0.4, which had no `no_grad`, and code that later versions do not run."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds
from flake8_torchleak.model.importers import files_below

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_FILES = 600
_NUMBER = r"\.data(?:\.cpu\(\))?\[0\]"
_OLD = re.compile(rf"\bvolatile *= *True|\bVariable\(.*{_NUMBER}", re.DOTALL)
"""`volatile` built no graph then."""
_ENDED = re.compile(_NUMBER)
"""`loss.data[0]` is an error since PyTorch 0.5."""
_NEW = re.compile(r"\.item\(\)|\bno_grad\b|\btorch\.device\(|\.to\(")
"""In code that runs on later versions."""


@lru_cache(maxsize=1)
def is_old(text: str) -> bool:
    """Whether a module was written for PyTorch 0.3, and nothing in it for later versions."""
    return bool(_OLD.search(text)) and not _NEW.search(text)


def is_ended(text: str) -> bool:
    """Whether such a module reads the number of a loss as no later version does: it cannot be run any more."""
    return is_old(text) and bool(_ENDED.search(text))


def is_of_old_program(module: Module) -> bool:
    """Whether some file of a program makes inputs volatile, and none knows of `no_grad`: it is older than 0.4."""
    project = module.project
    if project is None or not project.is_marked:
        return False
    files = files_below(project.top)
    if len(files) > _MOST_FILES or any(holds(each, project.top, "no_grad") for each in files):
        return False
    given = [each for each in files if holds(each, project.top, "volatile=")]
    return any(not holds(each, project.top, "volatile=False") for each in given)
