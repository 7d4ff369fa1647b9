"""The baseline: a file that lists old findings, by path, code and source line, so that only new ones are reported."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from flake8_torchleak.config import ConfigError
from flake8_torchleak.disk import read
from flake8_torchleak.finding import Finding, Span
from flake8_torchleak.shells.globs import relative
from flake8_torchleak.source import Source

VERSION = 1
Entries = Mapping[str, Counter[tuple[str, str]]]
"""By path (relative to the baseline's folder, with "/"): how many findings there are of a code in a source line, its
white space collapsed."""


class Baseline:
    """The entries of one file, and which of them a run has met.

    paths: what the run was asked to check.
    """

    def __init__(self, file: str, paths: Iterable[str], entries: Entries | None = None) -> None:
        self._folder = os.path.dirname(os.path.realpath(file))
        self._paths = [os.path.realpath(path) for path in paths if path != "-"]
        self.entries = load(file) if entries is None else entries
        self.met: dict[str, Counter[tuple[str, str]]] = {}
        """By path of each file that was checked: the entries that it still needs."""

    def path(self, path: str) -> str:
        """A file's path as entries have it. A link to a file is a file of its own."""
        folder, name = os.path.split(os.path.abspath(path))
        return relative(os.path.join(os.path.realpath(folder), name), self._folder)

    def covered(self, path: str, text: str, findings: Iterable[Finding]) -> set[tuple[str, Span]]:
        """Code and place of those findings that the baseline lists; of too many alike, the first ones."""
        left = Counter(self.entries.get(self.path(path), {}))
        found = set()
        for each, key in keys(text, findings if left else ()):
            if left[key] > 0:
                left[key] -= 1
                found.add((each.code, each.span))
        return found

    def meet(self, path: str, text: str, findings: Iterable[Finding], whole: bool = True) -> None:
        """Take note of what a file needs of the baseline. findings: all that no `# noqa` hides, selected or not.

        whole: the file was checked as a whole; else it may need all that it has.
        """
        name = self.path(path)
        old = self.entries.get(name, Counter())
        self.met[name] = Counter(key for _, key in keys(text, findings)) & old if whole else old

    def remaining(self) -> Entries:
        """The entries without those that have vanished: of files that were checked, or asked for and gone."""
        kept = {}
        for name, entries in self.entries.items():
            if name in self.met:
                kept[name] = self.met[name]
            elif not self._asked_for(name) or os.path.lexists(os.path.join(self._folder, name)):
                kept[name] = entries
        return kept

    def vanished(self) -> int:
        """How many findings that it lists have vanished from the code."""
        return count(self.entries) - count(self.remaining())

    def _asked_for(self, name: str) -> bool:
        path = os.path.normpath(os.path.join(self._folder, name))
        return any(path == each or path.startswith(os.path.join(each, "")) for each in self._paths)


def keys(text: str, findings: Iterable[Finding]) -> list[tuple[Finding, tuple[str, str]]]:
    """Each finding with its code and the line that it begins on."""
    lines = Source(text).lines
    return [
        (each, (each.code, " ".join("".join(lines[each.span.line - 1 : each.span.line]).split()))) for each in findings
    ]


def count(entries: Entries) -> int:
    """The findings that entries stand for."""
    return sum(sum(each.values()) for each in entries.values())


def load(file: str) -> Entries:
    """The entries of a baseline. Raises ConfigError, one line, for a file that is missing or none of ours."""
    import json

    try:
        return _entries(json.loads(read(file)))
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such baseline; `torchleak baseline write` makes one") from None
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: is not a baseline of torchleak: {error}") from None


def _entries(data: object) -> Entries:
    """Raises ValueError for what is not the content of a baseline."""
    if not isinstance(data, dict) or not isinstance(data.get("torchleak-baseline"), int):
        raise ValueError("it has no torchleak-baseline version")
    if data["torchleak-baseline"] != VERSION:
        raise ValueError(f"version {data['torchleak-baseline']}, and this torchleak knows {VERSION}")
    found: dict[str, Counter[tuple[str, str]]] = {}
    rows = data.get("findings")
    for row in rows if isinstance(rows, list) else [None]:
        match row:
            case {"path": str(path), "code": str(code), "line": str(line), "count": int(number)} if number > 0:
                found.setdefault(path, Counter())[code, line] += number
            case _:
                raise ValueError(f"what it lists is not path, code, line and count: {row!r:.80}")
    return found


def save(file: str, entries: Entries) -> None:
    """Write a baseline, sorted, an entry a line. Raises ConfigError, one line, where that is not possible."""
    import json

    from flake8_torchleak.fixing.write import WriteError, put

    rows = [
        json.dumps({"path": path, "code": code, "line": line, "count": number})
        for path, found in sorted(entries.items())
        for (code, line), number in sorted(found.items())
    ]
    listed = "[\n    " + ",\n    ".join(rows) + "\n  ]" if rows else "[]"
    new = f'{{\n  "torchleak-baseline": {VERSION},\n  "findings": {listed}\n}}\n'.encode()
    try:
        put(file, new)
    except WriteError as error:
        raise ConfigError(f"{file}: {error}") from None
