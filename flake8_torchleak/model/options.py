"""What an option of a program is where nobody gives it: the number of workers, most often."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.firstparty import holds, text_of
from flake8_torchleak.model.importers import importers

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_MOST_USERS = 12


def option_default(module: Module, node: ast.expr) -> int | None:
    """The number that `args.num_workers` is by default: as the parser of this file, or of one that imports it, says."""
    if not isinstance(node, ast.Attribute):
        return None
    found = _in_text(module.source.text, node.attr)
    if not found and module.project is not None and module.path is not None:
        top = module.project.top
        for path in importers(str(module.path), ("add_argument(",), _MOST_USERS)[0]:
            if holds(path, top, node.attr.partition("_")[0]):
                found |= _in_text(text_of(path, top) or "", node.attr)
    return found.pop() if len(found) == 1 else None


def _in_text(text: str, name: str) -> set[int]:
    """The defaults of the options of that name; only whole numbers."""
    flag = "[-_]".join(map(re.escape, name.split("_")))
    rest = r"(?:[^()]|\([^()]*\))*?"
    option = rf"add_argument\(\s*(?:['\"]-\w+['\"]\s*,\s*)?['\"]--{flag}['\"]{rest}\bdefault\s*=\s*(\d+)\s*[,)]"
    return {int(each) for each in re.findall(option, text)}
