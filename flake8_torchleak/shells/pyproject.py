"""`[tool.torchleak]` in pyproject.toml, which the command reads (flake8 has its own files and reads none of this)."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from flake8_torchleak.config import ConfigError, did_you_mean
from flake8_torchleak.disk import MOST_SETTINGS, read

_MARK = "torchleak--mark"
_MOST_TRIES = 20
"""Places where a setting's name stands that are tried: each costs a reading of the whole file."""


class Table(NamedTuple):
    """What a file says: its settings as TOML has them. file: its path; empty where there is none."""

    values: Mapping[str, object]
    file: str = ""
    text: str = ""

    def where(self, name: str) -> str:
        """FILE:LINE of the setting `name`; FILE alone where the text does not show it.

        TOML parsers tell no places. But a name stands where writing another one there changes the name of the setting.
        """
        for match in islice(re.finditer(re.escape(name), self.text), _MOST_TRIES):
            changed = self.text[: match.start()] + _MARK + self.text[match.end() :]
            try:
                values = _parse(changed)
            except ValueError:
                continue
            if isinstance(values, dict) and _MARK in values:
                return f"{self.file}:{self.text.count(chr(10), 0, match.start()) + 1}"
        return self.file


def nearest(folder: str, names: Iterable[str]) -> Table:
    """The settings for a command run in `folder`; empty without a pyproject.toml that has the table.

    The nearest file upwards that has the table counts, at most up to the repository's root.
    names: the settings there are. Raises ConfigError for a file that is no TOML and for a name not among them.
    """
    path = os.path.abspath(folder)
    while True:
        file = os.path.join(path, "pyproject.toml")
        try:
            table = _table(file)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            table = None
        except (OSError, UnicodeDecodeError) as error:
            # Silence would check, and fix, what it excludes.
            raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
        if table is not None:
            return _checked(table, names)
        parent = os.path.dirname(path)
        if parent == path or os.path.exists(os.path.join(path, ".git")):
            return Table({})
        path = parent


def named(file: str, names: Iterable[str]) -> Table:
    """The settings of the `file` that `--config` names. Raises ConfigError also where it has none."""
    try:
        table = _table(os.path.abspath(file))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if table is None:
        raise ConfigError(f"{file}: there is no table [tool.torchleak]")
    return _checked(table, names)


def _table(file: str) -> Table | None:
    """The table of a file; None where it has none. Raises OSError or UnicodeDecodeError where it cannot be read."""
    return parsed_table(io.StringIO(read(file, MOST_SETTINGS).decode("utf-8"), newline=None).read(), file)


def parsed_table(text: str, file: str) -> Table | None:
    """The table in the text of a file; None where it has none. Raises ConfigError for what is no TOML."""
    if "torchleak" not in text:
        return None
    try:
        values = _parse(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: {error}") from None
    if values is None:
        return None
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: tool.torchleak is not a table")
    return Table(values, file, text)


def _parse(text: str) -> object:
    """The value of `tool.torchleak` in a text; None where there is none. Raises ValueError for what is no TOML."""
    # Only here: the parser costs more to import than all the rest of the command, and few runs need it.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    loads: Callable[[str], dict[str, object]] = toml.loads
    tool = loads(text).get("tool")
    return tool.get("torchleak") if isinstance(tool, dict) else None


def _checked(table: Table, names: Iterable[str]) -> Table:
    known = {name: name for name in names}
    for name in table.values:
        if name not in known:
            raise ConfigError(f"{table.where(name)}: no setting is called {name!r}{did_you_mean(name, known)}")
    return table
