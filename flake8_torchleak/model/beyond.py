"""Whether other files may show more than a note of a Dataset of which its own file shows nothing.

Asking other files takes longer than all the rest. What a loop keeps, or evaluates, is seen where the loop is, and the
calls are followed into other files in any case. What a base class or a helper reads as a whole, or opens, may be in
another file: then the words of who does so stand there, or here.
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
"""What stands in a text that reads annotations, or records, as a whole."""
_OPENING = re.compile(rf"(?:=|return)[ \t]*(?:{'|'.join(re.escape(each) for each in OPENS if '.' in each)})\(")
"""What is opened and not closed at once, as `with` does; of plain files nobody could tell what for."""


def others_may_tell(module: Module) -> bool:
    """Whether a Dataset may hold what its file, or one that the file asks for, reads as a whole or opens."""
    project, asked = module.project, module.asked
    if project is None or not asked:
        return False
    return any(map(_may_tell, (module.source.text, *map(project.text_behind, asked))))


def _may_tell(text: str) -> bool:
    return holds_any(text, _READING) or _OPENING.search(text) is not None
