"""Where the project that a file is in begins, and from which of its folders imports start."""

from __future__ import annotations

import os

from flake8_torchleak.model.reading import made, reader

MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_PAPERS = (
    ("LICENSE", "LICENSE.md", "LICENSE.txt", "requirements.txt", "environment.yml", "environment.yaml"),
    ("README.md", "README.rst", "README.txt", "README"),
)
"""What the top of a project has without these, the surest first."""
_HOME = os.path.expanduser("~")
"""No project, whatever lies there."""
_MOST_LEVELS = 8
"""Folders above the module in which its imports are looked for."""


def _is_marked(folder: str) -> bool:
    """Whether a folder has one of the files of a project's top. A package may have a module `setup`."""
    has = reader().has
    return any(has(folder, each) for each in MARKERS if each != "setup.py" or not has(folder, "__init__.py"))


@made(4096)
def found_top(folder: str) -> tuple[str, bool]:
    """The top of the project that a folder is in, and whether that is known.

    What version control or packaging put there says so; in what was copied or unpacked without these, the papers of a
    project, of which a folder inside may have some of its own: a licence or requirements before a README.
    """
    has = reader().has
    nearest = folder
    while has(nearest, "__init__.py") and os.path.dirname(nearest) != nearest:
        nearest = os.path.dirname(nearest)
    above = [folder]
    while len(above) < _MOST_LEVELS and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    marked = next((each for each in above if _is_marked(each)), None)
    if marked is not None:
        return marked, True
    outside = above[above.index(nearest) :] if nearest in above else []  # a package inside may have papers of its own
    own = [each for each in outside if os.path.dirname(each) != each and each != _HOME]
    for papers in _PAPERS:
        found = next((each for each in own if any(has(each, name) for name in papers)), None)
        if found is not None:
            return found, True
    return nearest, False


@made(4096)
def roots(folder: str) -> tuple[str, ...]:
    has = reader().has
    (top, known), found = found_top(folder), []
    while True:
        if not has(folder, "__init__.py") or (folder == top and known):
            found.append(folder)  # scripts at the project's top start there, whatever else lies beside them
        if has(folder, "src"):
            found.append(os.path.join(folder, "src"))
        if folder == top or os.path.dirname(folder) == folder:
            return tuple(found)
        folder = os.path.dirname(folder)
