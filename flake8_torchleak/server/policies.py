"""The settings in force for each file: those of the command in its workspace folder, and what the editor says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flake8_torchleak.config import ConfigError, did_you_mean
from flake8_torchleak.rule import all_rules
from flake8_torchleak.server.overlay import Stamp, stamp_of
from flake8_torchleak.shells.baseline import Baseline
from flake8_torchleak.shells.globs import Globs
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.settings import SETTINGS, settings

EDITOR = "editor"
"""Where a setting comes from that the editor sends."""
OWN = {"config": str, "isolated": bool, "debounce": int, "run": str}
"""What only the editor can say. config: a file of settings; isolated: read none; debounce: milliseconds to wait for the
next keystroke; run: "type", or "save" to check only what is saved."""
_DEBOUNCE = 150
_RUNS = ("type", "save")


class Wishes:
    """What the editor says. Raises ConfigError, one line, for what it cannot say."""

    def __init__(self, raw: object = None) -> None:
        given = dict(raw) if isinstance(raw, Mapping) else {}
        self._given = given
        known = {each.name: each.name for each in SETTINGS} | dict.fromkeys(OWN, "")
        for name, value in given.items():
            if name not in known:
                raise ConfigError(f"{EDITOR}: no setting is called {name!r}{did_you_mean(str(name), known)}")
            if name in OWN and value is not None and type(value) is not OWN[name]:
                raise ConfigError(f"{EDITOR}: {name}: {value!r} is no {OWN[name].__name__}")
        self.values = {name: value for name, value in given.items() if name not in OWN and value is not None}
        self.config: str | None = given.get("config") or None
        self.isolated: bool = given.get("isolated") or False
        wait = given.get("debounce")
        self.debounce: float = (_DEBOUNCE if wait is None else max(wait, 0)) / 1000
        self.run: str = given.get("run") or _RUNS[0]
        if self.run not in _RUNS:
            raise ConfigError(f"{EDITOR}: run: expected one of {', '.join(_RUNS)}, not {self.run!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Wishes) and self._given == other._given

    __hash__ = None  # type: ignore[assignment]


class Terms:
    """A policy, and what it leaves out."""

    def __init__(self, policy: Policy, excluded: Globs, folder: str) -> None:
        self.policy, self.excluded, self.folder = policy, excluded, folder

    def leaves_out(self, path: str) -> bool:
        """Whether a file is left out: it, or a folder that it lies in."""
        return self.excluded.cover(path)


class Policies:
    """Of some workspace folders. tell: told, one line, of settings that cannot be used; the last good ones stay."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.folders: list[str] = []
        self._wishes: Mapping[str, Wishes] = {}
        self._known: dict[str, Terms] = {}
        self._last: dict[str, Terms] = {}
        self._stamps: dict[str, Stamp | None] = {}
        self._rules = [(each.code, each.slug) for each in all_rules()]

    def set(self, folders: list[str], wishes: Mapping[str, Wishes]) -> None:
        """The workspace folders, and what the editor says for each; "" for all others."""
        self.folders, self._wishes = folders, wishes
        self.forget()

    def forget(self) -> None:
        """Read the settings again."""
        self._known.clear()
        self._stamps.clear()

    def behind(self) -> bool:
        """Whether a file that the settings come from, or could come from, has changed since they were read."""
        return any(stamp_of(path) != stamp for path, stamp in self._stamps.items())

    def folder(self, path: str) -> str:
        """The workspace folder that a file lies in, the innermost one; without one its own folder."""
        above = [each for each in self.folders if path.startswith(os.path.join(each, ""))]
        return max(above, key=len, default=os.path.dirname(path) or os.getcwd())

    def of(self, path: str) -> Terms:
        """What is in force for a file."""
        folder = self.folder(path)
        if folder not in self._known:
            self._known[folder] = self._read(folder)
        return self._known[folder]

    def _read(self, folder: str) -> Terms:
        wishes = self._wishes.get(folder) or self._wishes.get("") or Wishes()
        # A file that the editor names is relative to the folder.
        config = os.path.join(folder, wishes.config) if wishes.config else None
        self._watch(*_upwards(folder), *[config] * bool(config))
        for given in (wishes.values, {}):
            try:
                values = settings(given, self._rules, config, wishes.isolated, folder, EDITOR)
                file = values["baseline"].value
                self._watch(*[file] * bool(file))
                baseline = Baseline(file, [folder]) if file else None
            except ConfigError as error:
                self._tell(str(error))
                continue
            excluded = Globs(values["exclude"].value + values["extend-exclude"].value)
            self._last[folder] = Terms(Policy(values, baseline), excluded, folder)
            return self._last[folder]
        return self._last.get(folder) or Terms(Policy(settings({}, self._rules, isolated=True)), Globs(()), folder)

    def _watch(self, *files: str | None) -> None:
        self._stamps.update((each, stamp_of(each)) for each in files if each)


def _upwards(folder: str) -> Iterator[str]:
    """The files that may hold the settings of a folder."""
    while True:
        yield os.path.join(folder, "pyproject.toml")
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


def plain(raw: object) -> dict[str, Any]:
    """Settings as editors send them: in an object of their own, or in one under the name "torchleak".

    What is meant for the editor's own side of the connection (`client`, and `trace` by custom) is left out.
    """
    inner = raw.get("torchleak", raw) if isinstance(raw, Mapping) else None
    if not isinstance(inner, Mapping):
        return {}
    return {name: each for name, each in inner.items() if name not in ("client", "trace")}
