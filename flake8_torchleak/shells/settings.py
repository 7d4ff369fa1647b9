"""`[tool.torchleak]` in pyproject.toml, which the command reads (flake8 has its own files and reads none of this)."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Mapping

from flake8_torchleak.config import ConfigError


def load(folder: str, names: Iterable[str]) -> Mapping[str, object]:
    """The settings for a command run in `folder`; empty without a pyproject.toml that has the table.

    The nearest file upwards that has the table counts, at most up to the repository's root.
    names: the settings there are. Raises ConfigError for a file that is no TOML and for a name not among them.
    """
    path = os.path.abspath(folder)
    while True:
        file = os.path.join(path, "pyproject.toml")
        table = _table(file)
        if table is not None:
            return _checked(table, tuple(names), file)
        parent = os.path.dirname(path)
        if parent == path or os.path.exists(os.path.join(path, ".git")):
            return {}
        path = parent


def _table(file: str) -> object:
    """The value of `tool.torchleak` in `file`; None where there is no such file or table."""
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        return None
    if "torchleak" not in text:
        return None
    # Only here: the parser costs more to import than all the rest of the command, and few runs need it.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return toml.loads(text).get("tool", {}).get("torchleak")
    except toml.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from None


def _checked(table: object, names: tuple[str, ...], file: str) -> Mapping[str, object]:
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: tool.torchleak is not a table")
    for name in table:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            raise ConfigError(
                f"{file}: no setting is called {name!r}" + (f"; did you mean {close[0]}?" if close else "")
            )
    return table
