"""Whether other files may show more than a note about a Dataset when its own file shows nothing.

Looking at a module again with what it asked of other files took a fifth of the time on 14 libraries. A base class or a
helper of another file can read records into what a Dataset holds, open a handle for it, or be the collate function of
its loader. The words for that then stand in that file, or in this one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flake8_torchleak.model.handles import OPENS
from flake8_torchleak.model.library import INDEXES, PARSES
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


def _may_tell(text: str) -> bool:
    return holds_any(text, _READING) or _OPENING.search(text) is not None
