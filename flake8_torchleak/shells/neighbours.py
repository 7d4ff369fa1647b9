"""Whether flake8 is told something else here: its files and `[tool.torchleak]` know nothing of each other."""

from __future__ import annotations

import argparse
import configparser
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from flake8_torchleak.config import DEFAULT, OPTIONS, ConfigError, build, split_list
from flake8_torchleak.shells.selection import Selection
from flake8_torchleak.shells.settings import COMMAND_LINE, Setting

_FILES = ("setup.cfg", "tox.ini", ".flake8")
"""In flake8's order: the first one with a section of its name counts."""
_CODES = ("select", "extend-select", "ignore", "extend-ignore")
_OURS = re.compile(rf"\bTLK[0-9]*\b|^({'|'.join(option.name for option in OPTIONS)})$", re.MULTILINE)


def disagreement(mine: Mapping[str, Setting], codes: list[str]) -> str:
    """What flake8 is told here about our rules that the settings `mine` do not say; one line, empty where nothing is.

    Asked are the files that a flake8 run in the current folder reads, if they speak of us; what the command line sets
    is meant to differ. codes: of all rules.
    """
    file, theirs = _section(os.path.abspath(os.curdir))
    if not _OURS.search("\n".join(f"{name}\n{value}" for name, value in theirs.items())):
        return ""
    set_here = {name for name, each in mine.items() if COMMAND_LINE in each.origins}
    differ = [words for name, words in _options(theirs, mine) if name not in set_here]
    if not set_here & set(_CODES):
        differ += _selected(theirs, mine, codes)
    if "per-file-ignores" not in set_here and _by_file(theirs) != _table(
        (glob.pattern, listed) for glob, listed in mine["per-file-ignores"].value
    ):
        differ.append("per-file-ignores")
    own = next((each for setting in mine.values() for each in setting.origins if os.path.isabs(each)), None)
    where = os.path.relpath(own) if own is not None else "no [tool.torchleak]"
    return f"flake8 ({os.path.relpath(file)}) and torchleak ({where}) differ: {'; '.join(differ)}" if differ else ""


def _section(folder: str) -> tuple[str, dict[str, str]]:
    """The file that flake8 takes its settings from in `folder`, and what it says, by names with dashes."""
    while True:
        for name in _FILES:
            found = configparser.RawConfigParser()
            file = os.path.join(folder, name)
            with suppress(OSError, UnicodeDecodeError, configparser.Error):
                if os.path.isfile(file) and found.read(file, encoding="utf-8") and "flake8" in found:
                    return file, {key.replace("_", "-"): value for key, value in found["flake8"].items()}
        above = os.path.dirname(folder)
        if above in (folder, os.path.expanduser("~")):
            return "", {}
        folder = above


def _options(theirs: Mapping[str, str], mine: Mapping[str, Setting]) -> Iterator[tuple[str, str]]:
    """The settings of the analysis that differ, each with how. What flake8 refuses, it says itself."""
    with suppress(ConfigError):
        config = build(theirs)
        for option in OPTIONS:
            value = getattr(config, option.field)
            if value != mine[option.name].value:
                default = " (its default)" * (option.name not in theirs and value == getattr(DEFAULT, option.field))
                words = f"{_shown(value)} for flake8{default}, {_shown(mine[option.name].value)} here"
                yield option.name, f"{option.name} is {words}"


def _shown(value: Any) -> str:
    return ",".join(value) or "empty" if isinstance(value, tuple) else str(value)


def _selected(theirs: Mapping[str, str], mine: Mapping[str, Setting], codes: list[str]) -> Iterator[str]:
    """The codes that one of the two reports and the other does not."""
    from flake8.style_guide import Decision, DecisionEngine

    listed = {name: split_list(name, theirs[name]) if name in theirs else None for name in _CODES}
    # As the plugin registers itself with flake8.
    more: dict[str, Any] = {"extended_default_select": ["TLK"], "extended_default_ignore": ["TLK9"]}
    engine = DecisionEngine(
        argparse.Namespace(**{name.replace("-", "_"): each for name, each in listed.items()}, **more)
    )
    flake8 = {code for code in codes if engine.decision_for(code) is Decision.Selected}
    value = {name: mine[name].value for name in _CODES}
    chosen = Selection(value["select"], value["extend-select"], value["ignore"] + value["extend-ignore"])
    ours = {code for code in codes if chosen.takes(code)}
    for who, only in (("flake8", flake8 - ours), ("torchleak", ours - flake8)):
        if only:
            yield f"only {who} reports {', '.join(_ranges(sorted(only), codes))}"


def _ranges(some: list[str], codes: list[str]) -> Iterator[str]:
    """Codes in order, those that follow each other among all as FIRST-LAST."""
    at = 0
    while at < len(some):
        first = last = at
        while last + 1 < len(some) and codes.index(some[last + 1]) == codes.index(some[last]) + 1:
            last += 1
        yield some[first] if first == last else f"{some[first]}-{some[last]}"
        at = last + 1


def _by_file(theirs: Mapping[str, str]) -> dict[str, set[str]]:
    """flake8's per-file-ignores of our codes."""
    from flake8.exceptions import ExecutionError
    from flake8.utils import parse_files_to_codes_mapping

    with suppress(ExecutionError):
        return _table(parse_files_to_codes_mapping(theirs.get("per-file-ignores", "")))
    return {}


def _table(pairs: Iterable[tuple[str, Iterable[str]]]) -> dict[str, set[str]]:
    table: dict[str, set[str]] = {}
    for pattern, codes in pairs:
        table.setdefault(pattern, set()).update(code for code in codes if code.startswith("TLK"))
    return {pattern: codes for pattern, codes in table.items() if codes}
