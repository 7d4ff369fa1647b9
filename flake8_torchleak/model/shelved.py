"""Files in a folder whose name says that they are not in use any more, or another project's: who else would run them?

Names alone tell. Of nine findings in such folders of three repositories that readers judged, one was worth a change.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flake8_torchleak.model.module import Module

_LEFT = frozenset({
    "archive", "archived", "archives", "backup", "backups", "bak", "deprecated", "legacy", "obsolete", "outdated",
    "unused",
})  # fmt: skip
"""Words of the names of folders with what is not in use."""
_OTHERS = frozenset({"external", "externals", "vendor", "vendored", "vendors"})
"""Names of folders with what others have written."""
_THIRD_PARTY = re.compile(r"(?:third|3rd)[^a-z0-9]*part(?:y|ies)\b")
"""The same, with other words beside it: `third_party_code`."""
_WORD = re.compile(r"[a-z0-9]+")


def shelf(module: Module) -> str:
    """The folder above a file, below its project's, whose name says so; "" if there is none."""
    project = module.project
    if project is None or module.path is None:
        return ""
    place = os.path.abspath(module.path).removeprefix(os.path.join(project.top, ""))
    return next(filter(_is_shelf, place.split(os.sep)[:-1]), "")


def _is_shelf(folder: str) -> bool:
    name = folder.lower()
    return (
        name in _OTHERS
        or bool(_THIRD_PARTY.search(name.replace("_", " ")))
        or not _LEFT.isdisjoint(_WORD.findall(name))
    )
