"""Which files a command reads: named ones always, those found in folders unless hidden, ignored by git or not ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from flake8_torchleak.disk import MOST_SETTINGS, read
from flake8_torchleak.shells.gitignore import Patterns
from flake8_torchleak.shells.globs import Globs
from flake8_torchleak.source import NAMES

Complain = Callable[[str], None]
"""Told one line for each path that cannot be read."""

_HERE = os.path.join(".", "")
_ENVIRONMENT = "pyvenv.cfg"
"""What a virtual environment holds, whatever it is called: no setting changes that it is left out."""
NOT_OURS = (".*/", "__pycache__/", "node_modules/", "site-packages/", "venv/", "build/", "dist/", "*.egg-info/")
"""What the setting `exclude` is unless someone changes it: what is hidden, generated, or someone else's code."""


def python_files(paths: Iterable[str], complain: Complain, excluded: Globs, force: bool = False) -> Iterator[str]:
    """Each file to check once: the named ones, then for each named folder the Python in it, in order of path.

    excluded: what walks leave out; force: and what is left out even if it is named.
    Links to folders are not followed, so that loops end, nor links that lead out of the repository (or, outside of one,
    out of the folder): what is there has not been asked for, and must not be fixed.
    A path that cannot be listed goes to `complain`, and so does
    it where nothing is to be checked: a run that looks at nothing must not seem clean. That `force` left out all that
    was named is no error: pre-commit names whatever files a commit has.
    """
    seen: set[str] = set()
    named = list(paths)
    silent = True

    def tell(text: str) -> None:
        nonlocal silent
        silent = False
        complain(text)

    for path in named:
        is_folder = os.path.isdir(path)
        if force and path != "-" and excluded.cover(os.path.abspath(path), is_folder):
            silent = False
            continue
        if is_folder:
            top = _repository(path) or path
            found: Iterable[str] = _walk(path, _above(path), excluded, tell, os.path.realpath(top))
        else:
            found = (path,)
        for each in found:
            name = each.removeprefix(_HERE)
            if name not in seen:
                seen.add(name)
                yield name
    if named and not seen and silent:
        complain(f"{', '.join(named)}: no Python file or notebook to check; `torchleak config` shows what `exclude` is")


class _Ignores:
    """The ignore rules in force in one folder: its own, and those of the folders above it."""

    def __init__(self, folder: str, patterns: Patterns, above: _Ignores | None) -> None:
        self._start = len(os.path.join(folder, ""))
        self._patterns = patterns
        self._above = above

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether git would leave out the absolute `path`: the nearest file with a matching pattern decides."""
        verdict = self._patterns.verdict(path[self._start :].replace(os.sep, "/"), is_folder)
        if verdict is None:
            return self._above is not None and self._above.ignores(path, is_folder)
        return verdict


def _walk(folder: str, ignores: _Ignores | None, excluded: Globs, complain: Complain, top: str) -> Iterator[str]:
    """The files with Python below `folder`, sorted; iterative, since folders nest deeper than Python recurses.

    top: the folder, without links, that links must not lead out of.
    """
    stack = [(folder, True, ignores)]
    while stack:
        path, is_folder, ignores = stack.pop()
        if not is_folder:
            yield path
            continue
        try:
            with os.scandir(path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            complain(f"{path}: {error.strerror or error}")
            continue
        names = {entry.name for entry in entries}
        if _ENVIRONMENT in names and path is not folder:
            continue
        if ".gitignore" in names:
            ignores = _read(path, ".gitignore", ignores)
        here = os.path.join(os.path.abspath(path), "")
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not _is_python(entry, top):
                continue
            place = here + entry.name
            if excluded.verdict(place, is_folder) or (ignores is not None and ignores.ignores(place, is_folder)):
                continue
            stack.append((entry.path, is_folder, ignores))


def _is_python(file: os.DirEntry[str], top: str) -> bool:
    """Whether a walk gives out `file`: a link that leads nowhere (an editor's lock file) or out is none, nor a pipe."""
    try:
        if not file.name.endswith(NAMES) or not file.is_file():
            return False
        return not file.is_symlink() or os.path.realpath(file.path).startswith(os.path.join(top, ""))
    except OSError:
        # A link to itself: taken, so that reading it says what is wrong.
        return True


def _above(folder: str) -> _Ignores | None:
    """What the repository's folders above `folder` ignore; None outside a repository.

    A folder that git ignores but the user names is checked: then nothing from above counts.
    """
    top = _repository(folder)
    if top is None:
        return None
    path = os.path.abspath(folder)
    chain = [path]
    while path != top:
        path = os.path.dirname(path)
        chain.append(path)
    ignores = _read(path, os.path.join(".git", "info", "exclude"), None)
    for parent, child in zip(chain[:0:-1], chain[-2::-1]):
        ignores = _read(parent, ".gitignore", ignores)
        if ignores is not None and ignores.ignores(child, True):
            return None
    return ignores


def _repository(folder: str) -> str | None:
    """The top folder of the repository that a folder lies in; None if it lies in none."""
    path = os.path.abspath(folder)
    while not os.path.exists(os.path.join(path, ".git")):
        if os.path.dirname(path) == path:
            return None
        path = os.path.dirname(path)
    return path


def _read(folder: str, name: str, above: _Ignores | None) -> _Ignores | None:
    """`above` with the patterns of one file added; `above` itself if it cannot be read, or is a link, as for git."""
    try:
        raw = read(os.path.join(folder, name), MOST_SETTINGS, links=name != ".gitignore")
        return _Ignores(os.path.abspath(folder), Patterns(raw.decode("utf-8", "replace")), above)
    except OSError:
        return above
