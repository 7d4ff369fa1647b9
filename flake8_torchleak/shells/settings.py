"""The settings of the command: what there is, and what is in force: by default, by file, or by command line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from flake8_torchleak.config import DEFAULT, OPTIONS, ConfigError, Option, build, split_list
from flake8_torchleak.shells import pyproject
from flake8_torchleak.shells.files import NOT_OURS
from flake8_torchleak.shells.gitignore import Patterns
from flake8_torchleak.shells.globs import Glob

SETTINGS = (
    Option("select", "CODES", "report only these codes or prefixes (default: all but TLK9)"),
    Option("extend-select", "CODES", "also report these codes or prefixes"),
    Option("ignore", "CODES", "do not report these codes or prefixes"),
    Option("extend-ignore", "CODES", "also do not report these codes or prefixes"),
    Option("per-file-ignores", "GLOB:CODES", "do not report these codes in files that match"),
    Option(
        "exclude", "GLOBS", "leave out what matches (patterns as in .gitignore), instead of what is left out by default"
    ),
    Option("extend-exclude", "GLOBS", "also leave out what matches; !GLOB takes something back in"),
    Option("force-exclude", "FLAG", "leave out what matches even if it is named on the command line"),
    Option("extend-safe-fixes", "CODES", "treat the fixes of these rules as safe"),
    Option("extend-unsafe-fixes", "CODES", "treat the fixes of these rules as unsafe"),
    Option("unfixable", "CODES", "never fix findings of these rules"),
    Option("baseline", "FILE", "do not report the findings listed in this file"),
    Option("report-unused-noqa", "FLAG", "report comments `# noqa: TLKnnn` that hide nothing"),
    *OPTIONS,
)
"""All of them. Kinds besides those of Option: CODES and GLOBS (lists), GLOB:CODES (a table), FILE, FLAG (a boolean).

In a list on the command line globs are separated by commas, all else by commas or white space.
"""

COMMAND_LINE = "command line"

_SPLIT = {"GLOBS": ",", "GLOB:CODES": " ", "CODES": ",", "NAMES": ","}
"""The kinds that may be given several times on a command line, and what joins them."""


class Setting(NamedTuple):
    """A value in force, and where it comes from: "default", the path of a file, "command line", or the last two."""

    value: Any
    origins: tuple[str, ...] = ("default",)


def repeatable(option: Option) -> bool:
    """Whether a command line may give it several times."""
    return option.metavar in _SPLIT


def settings(
    given: Mapping[str, Any],
    rules: Iterable[tuple[str, str]],
    config: str | None = None,
    isolated: bool = False,
    folder: str = os.curdir,
    origin: str = COMMAND_LINE,
) -> dict[str, Setting]:
    """Every setting by name. What the command line says goes before what the file says; `extend-` settings add up.

    given: the command line's, as text, lists of texts, or flags; None for what is not on it. rules: pairs of code and
    slug. config: the file to read instead of the nearest pyproject.toml; isolated: read none. folder: where the command
    runs, or what stands for it. origin: who says what is given, if it is not a command line: it is as TOML has it then.
    Raises ConfigError, one line that names the setting, and the file and line that has it.
    """
    names = [option.name for option in SETTINGS]
    table = pyproject.Table({})
    if not isolated:
        table = pyproject.named(config, names) if config else pyproject.nearest(folder, names)
    read = _Reader(tuple(rules))
    found = {}
    for option in SETTINGS:
        each = Setting(_default(option, folder))
        if option.name in table.values:
            try:
                value = read(option, table.values[option.name], os.path.dirname(table.file))
            except ConfigError as error:
                raise ConfigError(f"{table.where(option.name)}: {error}") from None
            each = Setting(value, (table.file,))
        raw = given.get(option.name)
        if raw is not None:
            raw = _SPLIT[option.metavar].join(raw) if repeatable(option) and origin == COMMAND_LINE else raw
            value = read(option, raw, "" if folder == os.curdir else folder)
            adds = option.name.startswith("extend-") and option.name in table.values
            each = Setting(each.value + value if adds else value, (*each.origins, origin) if adds else (origin,))
        found[option.name] = each
    return found


def _default(option: Option, folder: str) -> object:
    if option.name == "exclude":
        return tuple(Glob(pattern, os.path.abspath(folder)) for pattern in NOT_OURS)
    if option in OPTIONS:
        return getattr(DEFAULT, option.field)
    return {"FILE": None, "FLAG": False}.get(option.metavar, ())


class _Reader:
    """Turns what someone wrote into values. Relative names are taken from a folder; "" is the current one."""

    def __init__(self, rules: tuple[tuple[str, str], ...]) -> None:
        self._rules = rules

    def __call__(self, option: Option, raw: object, folder: str) -> object:
        kinds: dict[str, Callable[[str, object, str], object]] = {
            "CODES": self._codes,
            "GLOBS": self._globs,
            "GLOB:CODES": self._by_file,
            "FILE": self._file,
            "FLAG": self._flag,
        }
        if option.metavar in kinds:
            return kinds[option.metavar](option.name, raw, folder)
        return getattr(build({option.name: raw}), option.field)

    def _codes(self, name: str, raw: object, folder: str = "") -> tuple[str, ...]:
        from flake8_torchleak.shells.selection import known

        codes = known(name, split_list(name, raw), self._rules)
        if name == "select" and not codes:
            raise ConfigError("select: name at least one code or prefix")
        return codes

    def _globs(self, name: str, raw: object, folder: str) -> tuple[Glob, ...]:
        items = raw.split(",") if isinstance(raw, str) else split_list(name, raw)
        return tuple(_glob(name, item.strip(), folder) for item in items if item.strip())

    def _by_file(self, name: str, raw: object, folder: str) -> tuple[tuple[Glob, tuple[str, ...]], ...]:
        pairs = raw.items() if isinstance(raw, dict) else _pairs(name, raw)
        found = []
        for pattern, codes in pairs:
            if pattern.startswith("!"):
                raise ConfigError(f"{name}: {pattern!r}: no pattern before it leaves anything out")
            found.append((_glob(name, pattern, folder), self._codes(name, codes)))
        return tuple(found)

    def _file(self, name: str, raw: object, folder: str) -> str | None:
        if not isinstance(raw, str):
            raise ConfigError(f"{name}: expected a file name, not {raw!r}")
        if "\0" in raw:
            raise ConfigError(f"{name}: {raw!r} is not a possible file name")
        if folder and raw:
            _stays(name, raw, folder)
        return os.path.join(folder, raw) if raw else None

    def _flag(self, name: str, raw: object, folder: str) -> bool:
        if not isinstance(raw, bool):
            raise ConfigError(f"{name}: expected true or false, not {raw!r}")
        return raw


def _stays(name: str, raw: str, folder: str) -> None:
    """Raise ConfigError for what a settings file must not name: it may come from anybody, and we write there."""
    path = os.path.normpath(os.path.join(folder, raw))
    inside = os.path.relpath(path, folder).split(os.sep)
    links = (os.path.join(folder, *inside[:count]) for count in range(1, len(inside) + 1))
    if inside[0] == os.pardir or any(os.path.islink(each) for each in links):
        raise ConfigError(f"{name}: {raw!r} is outside the folder of this file, or behind a link: only --{name} may be")


def _glob(name: str, pattern: str, folder: str) -> Glob:
    if len(Patterns(pattern)) != 1:
        raise ConfigError(f"{name}: {pattern!r} is not a pattern; .gitignore files have the same")
    return Glob(pattern.removeprefix("./"), os.path.abspath(folder))


def _pairs(name: str, raw: object) -> Iterator[tuple[str, list[str]]]:
    """(pattern, codes) of a text such as flake8 takes: `a.py,b.py:TLK1,TLK2 tests/*:TLK4`."""
    if not isinstance(raw, str):
        raise ConfigError(f"{name}: expected a table of patterns, each with a list of codes, not {raw!r}")
    patterns: list[str] = []
    codes: list[str] = []
    behind = False  # the colon
    for item in [*re.findall(r":|[^\s,:]+", raw), ""]:
        if item == ":" and patterns and not behind:
            behind = True
        elif behind and re.fullmatch("[A-Z]+[0-9]*", item):
            codes.append(item)
        elif item != ":" and not behind and (item or not patterns):
            patterns.append(item)
        elif item != ":" and codes:
            yield from ((pattern, codes) for pattern in patterns)
            patterns, codes, behind = [item], [], False
        else:
            raise ConfigError(f"{name}: expected PATTERN:CODES PATTERN:CODES ..., not {raw!r}")
