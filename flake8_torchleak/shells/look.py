"""How files come to their findings: they are linted, or it is known what that would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flake8_torchleak.catalogue import catalogue
from flake8_torchleak.config import Config
from flake8_torchleak.finding import BOUND, Finding
from flake8_torchleak.shells.selection import INTERNAL

if TYPE_CHECKING:
    from flake8_torchleak.shells.cache.store import Store
    from flake8_torchleak.shells.pool import Pool
    from flake8_torchleak.shells.texts import File

_LIGHT = 200_000
"""Bytes of files that are linted before other processes would have begun."""
Wanted = Callable[[str], bool] | None
"""Which codes are worth looking for; None for all."""


def found(text: str, path: str, config: Config, wanted: Wanted, conventions: bool) -> list[Finding]:
    """What is found in a text. conventions: say of each finding that is wanted which conventions it rests on.

    Raises SyntaxError where the text does not parse.
    """
    from flake8_torchleak.lint import lint  # with all rules: the most there is to import

    findings = lint(text, config, path=path, fixes=True, wanted=wanted)
    if conventions and findings:
        from flake8_torchleak.conventions import resting

        return resting(findings, text, config, path)
    return findings


class Look:
    """Lints each file. conventions: see `found`."""

    def __init__(self, config: Config, conventions: bool = False) -> None:
        self.config, self.conventions = config, conventions

    def begin(self, paths: Sequence[str], wanted: Callable[[str], Wanted]) -> None:
        """These files are going to be looked at, in this order. wanted: what is, by path."""

    def is_clean(self, path: str, wanted: Wanted) -> bool:
        """Whether nothing is to be found in a file, which need not be read to know that."""
        return False

    def lost(self, path: str) -> str:
        """Why a file cannot be looked at, if it cannot be, in words for a message."""
        return ""

    def __call__(self, file: File, wanted: Wanted) -> list[Finding]:
        """The findings of a file. Raises SyntaxError where it does not parse."""
        return found(file.text, file.path, self.config, wanted, self.conventions)

    def end(self, whole: bool) -> None:
        """No file comes any more. whole: all have come; else something ended the run."""


class Remembering(Look):
    """Looks up what is known of a file, and lints it if nothing is. jobs: how many processes may lint."""

    def __init__(self, config: Config, store: Store, conventions: bool = False, jobs: int = 1) -> None:
        super().__init__(config, conventions)
        self._store, self._jobs = store, jobs
        self._codes: dict[Wanted, str] = {}
        self._pool: Pool | None = None
        self._lost: dict[str, str] = {}

    def begin(self, paths: Sequence[str], wanted: Callable[[str], Wanted]) -> None:
        self._store.expect(len(paths))
        if self._jobs < 2:
            return
        jobs = [(path, self._listed(wanted(path))) for path in paths if path != "-"]
        jobs = [(path, codes) for path, codes in jobs if not self._store.knows(path, codes)]
        if self._store.weight(path for path, _ in jobs) < _LIGHT:
            return
        from flake8_torchleak.shells import ahead

        self._pool = ahead.pool(jobs, self._jobs, self.config, self.conventions)

    def is_clean(self, path: str, wanted: Wanted) -> bool:
        codes = self._listed(wanted)
        told = self._pool.result(path) if self._pool is not None else None
        if told is not None and told.why:
            self._lost[path] = told.why
        elif told is not None and told.data is not None:
            self._store.take(path, told.worker, codes, told.data)
        # A notebook may have cells that cannot be read, which is told of each time.
        return not path.endswith(".ipynb") and self._store.is_clean(path, codes)

    def lost(self, path: str) -> str:
        return self._lost.get(path, "")

    def __call__(self, file: File, wanted: Wanted) -> list[Finding]:
        if file.place == "-" or not self._store.keeps:
            return super().__call__(file, wanted)
        codes = self._listed(wanted)
        known = self._store.findings(file.path, file.raw, codes)
        if known is not None:
            return known
        try:
            with self._store.noted() as asked:
                findings = super().__call__(file, wanted)
        except SyntaxError as error:
            self._store.put_error(file.path, file.raw, codes, error)
            raise
        if all(each.code != INTERNAL for each in findings):
            self._store.put(file.path, file.raw, codes, findings, tuple(asked))
        return findings

    def end(self, whole: bool) -> None:
        if self._pool is not None:
            self._pool.end()
        if whole:
            self._store.save()

    def _listed(self, wanted: Wanted) -> str:
        """The codes that are wanted."""
        found = self._codes.get(wanted)
        if found is None:
            codes = (*(code for code, _ in catalogue()), INTERNAL, BOUND)
            found = " ".join(code for code in codes if wanted is None or wanted(code))
            self._codes[wanted] = found
        return found
