"""Files in a folder whose name says that they are not in use any more, or another project's: who else would run them?

Names alone tell. Of nine findings in such folders that readers judged, one was worth a change.
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
_OTHERS = frozenset({
    "3rdparty", "3rd_party", "external", "externals", "third_parties", "third_party", "third_party_code", "thirdparty",
    "vendor", "vendored", "vendors",
})  # fmt: skip
"""Names of folders with what others have written."""
_WORD = re.compile(r"[a-z0-9]+")


def shelf(module: Module) -> str:
    """The folder above a file, below its project's, whose name says so; "" if there is none."""
    project = module.project
    if project is None or module.path is None:
        return ""
    place = os.path.abspath(module.path).removeprefix(os.path.join(project.top, ""))
    return next(filter(_is_shelf, place.split(os.sep)[:-1]), "")


def _is_shelf(folder: str) -> bool:
    words = _WORD.findall(folder.lower())
    return "_".join(words) in _OTHERS or not _LEFT.isdisjoint(words)
