"""`torchleak check --watch`: checks, then waits, and checks again what has changed and what it has to do with."""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable, Iterable

from flake8_torchleak.config import ConfigError
from flake8_torchleak.disk import read
from flake8_torchleak.model.firstparty import Finder
from flake8_torchleak.model.importers import forget, importers
from flake8_torchleak.shells import process
from flake8_torchleak.source import NAMES, SourceError, decode, parse
from flake8_torchleak.wording import printable

SETTINGS = frozenset({"pyproject.toml", ".gitignore", ".flake8", "setup.cfg", "tox.ini"})
"""Files of which any change may change what is reported of every other."""
_MOST = 200
"""Files that import a changed one and are checked again."""


def watch(arguments: argparse.Namespace, check: Callable[[], int], listed: Callable[[], Iterable[str]]) -> int:
    """Check all, and then whatever changes; ends when it is interrupted (KeyboardInterrupt), or with the exit status.

    check: checks `arguments.paths`, and prints; listed: the files that there are to check.
    Raises ConfigError where watchfiles is missing, or other arguments do not go with it.
    """
    for flag in ("fix", "fix_only", "diff", "add_noqa", "output_file"):
        if getattr(arguments, flag):
            raise ConfigError(f"--watch goes with a report that is printed, not with --{flag.replace('_', '-')}")
    if "-" in arguments.paths:
        raise ConfigError("--watch watches files and folders, not stdin")
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise ConfigError("--watch needs watchfiles: pip install 'flake8-torchleak[watch]'") from None
    every = arguments.paths
    status = check()
    present = [path for path in every if os.path.exists(path)]
    if not present:
        return status
    process.complain("torchleak: watching for changes; Ctrl-C ends\n")
    for changes in watchfiles.watch(*present, watch_filter=_matters):
        forget()
        arguments.paths = every
        changed = {path for _, path in changes}
        if SETTINGS.isdisjoint(map(os.path.basename, changed)):
            arguments.paths = again(changed, listed())
        if not arguments.paths:
            continue
        try:
            check()
        except ConfigError as error:
            # Somebody is in the middle of editing the settings.
            process.complain(f"torchleak: error: {printable(str(error))}\n")
    return status


def again(changed: Iterable[str], listed: Iterable[str]) -> list[str]:
    """Those of the files `listed` that have changed, that import what has, or that it imports.

    Evidence goes both ways: a helper tells what becomes of a loss, a caller what a helper is given.
    """
    wanted: set[str] = set()
    for path in changed:
        wanted |= {path, *importers(path, (), _MOST)[0], *_imported(path)}
    places = {os.path.realpath(path) for path in wanted}
    return [path for path in listed if os.path.realpath(path) in places]


def _imported(path: str) -> list[str]:
    """The files of the project that a file imports; none of one that is gone or does not parse."""
    try:
        tree = parse(decode(read(path)))
    except (OSError, SourceError, SyntaxError):
        return []
    return Finder(path).imports([each for each in ast.walk(tree) if isinstance(each, (ast.Import, ast.ImportFrom))])


def _matters(change: object, path: str) -> bool:
    """Whether a change may change what is found."""
    return path.endswith(NAMES) or os.path.basename(path) in SETTINGS
