"""What is done with each file of a run: it is checked here, or changed as well (`shells/repair.py`, `silence.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, FixLevel
from flake8_torchleak.shells.look import Look
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.texts import Complain, File, parsing
from flake8_torchleak.words import may_matter


class Treatment(Protocol):
    """What is done with each file: it is checked, or fixed as well (`shells/repair.py`).

    stdout_taken: something else is written to stdout (a diff, a fixed text), so the report goes to stderr.
    lists: findings are shown one by one, even if the report has no file of its own.
    changes: files are changed. tells: what was found, or stays, is told at all. config: how files are checked.
    rests: findings come with the conventions that they rest on.
    """

    config: Config
    stdout_taken: bool
    lists: bool
    changes: bool
    tells: bool
    rests: bool

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        """The text as it is now and the findings that stay in it; None if it could not be checked: complained of."""

    def begin(self, paths: Sequence[str]) -> None:
        """These files are going to come, in this order."""

    def is_clean(self, path: str) -> bool:
        """Whether nothing is to be found in a file, or to be done with it: it need not be read to know that."""

    def end(self, whole: bool) -> None:
        """No file comes any more. whole: all have come; else something ended the run."""

    def unread(self, raw: bytes) -> None:
        """What becomes of stdin that cannot be read as Python."""

    def summary(self) -> list[str]:
        """Lines that say what was done, or could be."""


class ReadingAll:
    """What a treatment does that reads each file, when its turn comes."""

    rests = False

    def begin(self, paths: Sequence[str]) -> None:
        pass

    def is_clean(self, path: str) -> bool:
        return False

    def end(self, whole: bool) -> None:
        pass


class Checking:
    """`torchleak check` without `--fix`. look: how files come to their findings."""

    stdout_taken = False
    lists = True
    changes = False
    tells = True

    def __init__(self, policy: Policy, complain: Complain, look: Look | None = None) -> None:
        self.config, self._policy, self._complain = policy.config, policy, complain
        self._look = look if look is not None else Look(policy.config)
        self.rests = self._look.conventions
        self._fixable: Counter[FixLevel] = Counter()

    def begin(self, paths: Sequence[str]) -> None:
        self._look.begin(paths, self._policy.wanted)

    def is_clean(self, path: str) -> bool:
        return self._look.is_clean(path, self._policy.wanted(path)) and not self._policy.reads_all

    def end(self, whole: bool) -> None:
        self._look.end(whole)

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        if not file.is_read:
            return "", []
        wanted = self._policy.wanted(file.path)
        if lost := self._look.lost(file.path):
            self._complain(f"{file.path}: the process that checked it has ended: {lost}", file.path)
            return None
        found = parsing(file.path, self._complain, lambda: self._look(file, wanted))
        if found is None:
            return None
        shown = self._policy.shown(file.path, file.text, found, whole=not (file.notebook and file.notebook.broken))
        if file.notebook and file.notebook.broken and may_matter(file.notebook.words, self.config.dataset_bases):
            for error in file.notebook.broken:
                self._complain(f"{file.path}:{error}", file.path)
            # What cannot be read may need what a fix would change.
            shown = [replace(f, fixes=(), unfixed="a cell does not parse") if f.fixes else f for f in shown]
        self._fixable.update(each.fixable for each in shown if each.fixable is not None)
        return file.text, shown

    def unread(self, raw: bytes) -> None:
        pass

    def summary(self) -> list[str]:
        safe, unsafe = self._fixable[FixLevel.SAFE], self._fixable[FixLevel.UNSAFE]
        offers = [f"{safe} with --fix"] * bool(safe) + [f"{unsafe} with --fix --unsafe-fixes"] * bool(unsafe)
        return [f"Can be fixed: {', '.join(offers)}."] * bool(offers) + self._policy.summary()
