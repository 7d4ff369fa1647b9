"""A rule switched off in `pyproject.toml`: its code added to what `[tool.torchleak]` ignores, and nothing else."""

from __future__ import annotations

import os
import re

from flake8_torchleak.config import ConfigError
from flake8_torchleak.disk import MOST_SETTINGS, read
from flake8_torchleak.shells.pyproject import Table, nearest, parsed_table
from flake8_torchleak.shells.settings import SETTINGS

_NAMES = ("extend-ignore", "ignore")


def settings_file(folder: str) -> str:
    """The file that a rule is switched off in: the one in force for a folder, else the folder's own.

    Raises ConfigError where it is broken.
    """
    return nearest(folder, [each.name for each in SETTINGS]).file or os.path.join(folder, "pyproject.toml")


def text_of(file: str) -> str | None:
    """The text of a settings file; None where there is none, or it cannot be read."""
    try:
        return read(file, MOST_SETTINGS).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def without(text: str, code: str) -> str | None:
    """The text of a settings file in which a code is ignored, too; None where that cannot be told to be all it does."""
    before = _values(text)
    if before is None:
        return None
    name = next((each for each in _NAMES if each in before), _NAMES[0])
    listed = before.get(name, [])
    if not isinstance(listed, list) or code in listed:
        return None
    end = "\r\n" if "\r\n" in text else "\n"
    ended = text if not text or text.endswith("\n") else text + end
    for candidate in (
        *(f'{text[: at.end()]}"{code}"{", " if listed else ""}{text[at.end() :]}' for at in _places(name, text)),
        *(f'{ended[: at.end()]}{name} = ["{code}"]{end}{ended[at.end() :]}' for at in _HEADER.finditer(ended)),
        f'{ended}{end * bool(ended)}[tool.torchleak]{end}{name} = ["{code}"]{end}',
    ):
        after = _values(candidate)
        if after is not None and after == {**before, name: after.get(name)} and _holds(after.get(name), code, listed):
            return candidate
    return None


_HEADER = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*torchleak[ \t]*\][^\n]*\n", re.MULTILINE)


def _places(name: str, text: str) -> list[re.Match[str]]:
    """Where the list that a name is bound to may begin."""
    return list(re.finditer(rf"\b{name}\b[\"']?[ \t]*=[ \t]*\[", text))


def _holds(listed: object, code: str, before: list[object]) -> bool:
    return isinstance(listed, list) and listed == [code, *before]


def _values(text: str) -> dict[str, object] | None:
    """What a text says of us; {} where it says nothing, None where it is broken."""
    try:
        table = parsed_table(text, "pyproject.toml")
    except ConfigError:
        return None
    return dict((table or Table({})).values)
