"""Findings of earlier runs, for files that are as they were then, as is all that the findings rest on.

One file holds the findings for one set of settings. Whatever is wrong with it, it is as if it were not there. It is
replaced as a whole, so that it is old or new when a run ends early or another one writes too; of those the last wins.
"""

from __future__ import annotations

import gc
import os
import sys
from binascii import crc32
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flake8_torchleak import __version__
from flake8_torchleak.disk import read
from flake8_torchleak.finding import Finding
from flake8_torchleak.model.reading import Question, Reader, reading
from flake8_torchleak.model.signs import Seen, digest, sign, signed, status
from flake8_torchleak.shells.cache import codec, folder
from flake8_torchleak.shells.cache.evidence import Evidence, Known, Row

FORM = 3
_MOST = 64_000_000
"""Bytes of a file of findings: one that would be larger is not written."""
_BAD = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError)
"""What reading data of any form may raise."""


Told = tuple[str, str, list[int], list[list[Row]], list[Any]]
"""Of a file: sign, digest, numbers of the questions, what is new of these, findings."""


class Gatherer:
    """What a process that only lints has to tell of each file."""

    def __init__(self) -> None:
        self.reader = Reader(notes=True)
        self._evidence = Evidence.empty(self.reader)

    def told(self, seen: Seen, findings: Sequence[Finding], asked: Sequence[Question]) -> Told:
        """What `Store.take` takes. Raises ValueError where a file was changed while it was read."""
        return *seen, self._evidence.added(asked), self._evidence.fresh(), codec.packed(findings)


class Store:
    """What is known of files. place: where it is kept; "" for nowhere. settings: what findings depend on but files."""

    def __init__(self, place: str, settings: str) -> None:
        self.reader = Reader(notes=True)
        self._folder = place if place and folder.is_ours(place) else ""
        self._wanted_folder = place
        self.keeps = bool(place)
        """Whether what is found is kept for other runs."""
        self._key = f"{FORM} {__version__} {_installed()} {sys.version} {_user()} {settings}"
        self._name = f"findings-{crc32(self._key.encode()):08x}.json"
        self._entries: dict[str, Row] = {}
        """By path: [sign, digest, codes, whether they rest on anything else, findings]."""
        self._codes: list[Any] = []
        self._evidence = Evidence.empty(self.reader)
        self._fine: dict[str, bool] = {}
        """The files that were looked up, and whether their entries hold."""
        self._made: set[str] = set()
        """The files whose entries were made in this run."""
        self._known: dict[int, Known] = {}
        self._places: dict[str, str] = {}
        self._is_new = False
        self._load()

    def expect(self, count: int) -> None:
        """So many files are going to be looked up."""
        self._evidence.expect(count)

    def is_clean(self, path: str, codes: str) -> bool:
        """Whether nothing is to be found in a file, which need not be read to know that. codes: what is looked for."""
        place = self._place(path)
        with suppress(*_BAD):
            return self._holds(place, codes) and not self._entries[place][4]
        return False

    def knows(self, path: str, codes: str) -> bool:
        """Whether the findings of a file are known."""
        with suppress(*_BAD):
            return self._holds(self._place(path), codes)
        return False

    def weight(self, paths: Iterable[str]) -> int:
        """How many bytes files have, as far as one can tell."""
        states = (self.reader.state(self._place(path)) for path in paths)
        return sum(state.st_size for state in states if state is not None)

    def findings(self, path: str, raw: bytes, codes: str) -> list[Finding] | None:
        """The findings of a file with this content; None if they are not known. Raises SyntaxError as linting would."""
        place = self._place(path)
        with suppress(*_BAD):
            if self._holds(place, codes) and self._entries[place][1] == digest(raw):
                return codec.unpacked(self._entries[place][4])
        return None

    def put_error(self, path: str, raw: bytes, codes: str, error: SyntaxError) -> None:
        """Keep that a file with this content does not parse."""
        place = self._place(path)
        seen = seen_file(place)
        if seen.digest == digest(raw):
            self._put(place, seen, codes, [], codec.packed_error(error))

    @contextmanager
    def noted(self) -> Iterator[dict[Question, None]]:
        """What is asked of other files meanwhile."""
        with reading(self.reader), self.reader.noted() as asked:
            yield asked

    def put(self, path: str, raw: bytes, codes: str, findings: Sequence[Finding], asked: Sequence[Question]) -> None:
        """Keep what was found in a file with this content. asked: what the findings rest on."""
        place = self._place(path)
        seen = seen_file(place)
        if seen.digest != digest(raw):
            return  # it has been changed since
        with suppress(ValueError):
            self._put(place, seen, codes, self._evidence.added(asked), codec.packed(findings))

    def take(self, path: str, worker: int, codes: str, told: Told) -> None:
        """Keep what another process has found in a file, which tells all that it has by `Gatherer`."""
        mark, content, numbers, rows, findings = told
        known = self._known.setdefault(worker, Known())
        self._evidence.merge(known, rows)
        asked = [known.questions[each] for each in numbers]
        self._put(self._place(path), Seen(mark, content), codes, asked, findings)

    def _place(self, path: str) -> str:
        """The path in full: asked for several times."""
        found = self._places.get(path)
        if found is None:
            found = self._places[path] = os.path.abspath(path)
        return found

    def _put(self, place: str, seen: Seen, codes: str, numbers: list[int], findings: list[Any]) -> None:
        if codes not in self._codes:
            self._codes.append(codes)
        self._entries[place] = [*seen, self._codes.index(codes), bool(numbers), findings]
        if numbers:
            self._evidence.asked[place] = numbers
        self._made.add(place)
        self._fine[place] = self._is_new = True

    def save(self) -> None:
        """Write down what is known, if that is more than before. What cannot be written is not."""
        if not self._wanted_folder or not (self._is_new or self._evidence.is_new):
            return
        from flake8_torchleak.fixing.write import WriteError, put

        with suppress(WriteError), _without_collecting():
            for entries in (
                {path: each for path, each in self._entries.items() if self._fine.get(path, True)},
                {path: each for path, each in self._entries.items() if self._fine.get(path)},
            ):
                raw = self._dumped(entries)
                if len(raw) <= _MOST and folder.make(self._wanted_folder):
                    put(os.path.join(self._wanted_folder, self._name), raw)
                    folder.tidy(self._wanted_folder)
                    return

    def _dumped(self, entries: dict[str, Row]) -> bytes:
        import json

        asked = self._evidence.asked
        try:
            entries = {path: each for path, each in entries.items() if not each[3] or path in asked}
            needed = self._needed(entries)
        except _BAD:
            # What was read is of no use: what was added since fits.
            entries = {path: each for path, each in entries.items() if path in self._made}
            needed = self._needed(entries)
        data = [self._key, self._codes, *needed, entries]
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def _needed(self, entries: dict[str, Row]) -> tuple[list[Row], list[list[Any]], str]:
        return self._evidence.only({path: self._evidence.asked[path] for path, each in entries.items() if each[3]})

    def _load(self) -> None:
        if not self._folder:
            return
        import json

        with suppress(OSError, *_BAD), _without_collecting():
            raw = read(os.path.join(self._folder, self._name), _MOST, links=False)
            key, codes, places, watched, details, entries = json.loads(raw.decode("utf-8", "surrogatepass"))
            if key == self._key and [type(each) for each in (codes, places, watched, details)] == [list] * 3 + [str]:
                self._entries = dict(entries)
                self._codes = codes
                self._evidence = Evidence(self.reader, places, watched, details)

    def _holds(self, path: str, codes: str) -> bool:
        """Whether the entry of a file says what is to be found there now. Raises one of _BAD for one that is broken."""
        if path in self._fine:
            return self._fine[path] and self._codes[self._entries[path][2]] == codes
        entry = self._entries.get(path)
        if entry is None:
            return False
        self._fine[path] = False
        known, content, code, rests, _ = entry
        if self._codes[code] != codes:
            return False
        state = self.reader.state(path)
        is_same = bool(known) and sign(state) == known
        if not is_same:
            seen = seen_file(path)
            is_same = seen.digest == content
            if is_same and seen.sign:
                entry[0], self._is_new = seen.sign, True
        self._fine[path] = is_same and (not rests or self._evidence.all_hold(path))
        return self._fine[path]


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Without the garbage collector, which would go through all that is being read or written, again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def seen_file(path: str) -> Seen:
    """A file as it is now. One that is reached by a link has no sign."""
    mark = signed(status(path)) if not os.path.islink(path) else ""
    try:
        return Seen(mark, digest(read(path)))
    except OSError:
        return Seen("", "")


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _installed() -> str:
    """What tells this installation from others of the same version: one may be worked on."""
    found: list[str] = []
    waiting = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
    with suppress(OSError):
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for each in entries:
                    if each.name.endswith(".py"):
                        state = each.stat()
                        found.append(f"{each.path} {state.st_size} {state.st_mtime_ns}")
                    elif "." not in each.name and each.is_dir() and each.name != "__pycache__":
                        waiting.append(each.path)
    return f"{crc32(' '.join(sorted(found)).encode()):08x}"
