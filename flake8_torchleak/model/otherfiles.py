"""Whether other files may show more than a note about a Dataset, or a loop that evaluates, when its own shows nothing.

Looking at a module again with what it asked of other files took a fifth of the time on 14 libraries. A base class or a
helper of another file can read records into what a Dataset holds, open a handle for it, or be the collate function of
its loader. The words for that then stand in that file, or in this one. A loop that evaluates by a method of an object
can record a graph where the class of that object stands.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.library import INDEXES, PARSES
from flake8_torchleak.model.modes import behind, bindings_of
from flake8_torchleak.model.names import last_name
from flake8_torchleak.model.opening import OPENS
from flake8_torchleak.words import holds_any

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_READING = tuple(sorted({*INDEXES, *(each.partition(".")[0] for each in PARSES)}))
"""Classes and packages that read annotations, or records, as a whole."""
_OPENING = re.compile(rf"(?:=|return)[ \t]*(?:{'|'.join(re.escape(each) for each in OPENS if '.' in each)})\(")
"""A handle that is bound or returned: a `with` would close it. Plain `open` is left out: nearly every file has it."""


def others_may_tell(module: Module) -> bool:
    """Whether a Dataset may hold what another file reads or opens, or its loader may get a collate function there."""
    project, asked = module.project, module.asked
    if project is None or not asked:
        return False
    if module.config.assume_workers == "yes":
        return True  # then every container is more than a note
    if not all(module.loaders.is_default(each.collate) for each in module.loaders.sites):
        return True
    return any(map(_may_tell, (module.source.text, *map(project.text_behind, asked))))


def others_may_evaluate(module: Module) -> bool:
    """Whether a loop over batches that trains nothing calls a method of an object whose class is in another file."""
    asked = {each.rpartition(".")[2] for each in module.asked}
    loops = (each for each in module.tree.all(ast.For, ast.AsyncFor) if asked and module.loops.why_step(each))
    calls = (each for loop in loops if not module.loops.trains(loop) for each in ast.walk(loop))
    methods = (each.func for each in calls if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute))
    return any(last_name(made) in asked for each in methods for made in _makers(module, each.value))


def _makers(module: Module, value: ast.expr) -> list[ast.expr]:
    """What is called to make an object, there or where it is bound: `Net` of `self.net = Net(config).to(device)`."""
    made = behind(value)
    if isinstance(made, ast.Call):
        return [made.func]
    found = (behind(each.value) for each in bindings_of(module, value) if each.value is not None)
    return [each.func for each in found if isinstance(each, ast.Call)]


def _may_tell(text: str) -> bool:
    return holds_any(text, _READING) or _OPENING.search(text) is not None
