"""How files come to their findings: they are linted, or it is known what that would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flake8_torchleak.catalogue import catalogue
from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding
from flake8_torchleak.shells.selection import INTERNAL

if TYPE_CHECKING:
    from flake8_torchleak.shells.cache.store import Store
    from flake8_torchleak.shells.texts import File

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

    def __call__(self, file: File, wanted: Wanted) -> list[Finding]:
        """The findings of a file. Raises SyntaxError where it does not parse."""
        return found(file.text, file.path, self.config, wanted, self.conventions)

    def end(self) -> None:
        """No file comes any more."""


class Remembering(Look):
    """Looks up what is known of a file, and lints it if nothing is."""

    def __init__(self, config: Config, store: Store, conventions: bool = False) -> None:
        super().__init__(config, conventions)
        self._store = store
        self._codes: dict[Wanted, str] = {}

    def is_clean(self, path: str, wanted: Wanted) -> bool:
        # A notebook may have cells that cannot be read, which is told of each time.
        return not path.endswith(".ipynb") and self._store.is_clean(path, self._listed(wanted))

    def __call__(self, file: File, wanted: Wanted) -> list[Finding]:
        if file.place == "-":
            return super().__call__(file, wanted)
        codes = self._listed(wanted)
        known = self._store.findings(file.path, file.raw, codes)
        if known is not None:
            return known
        with self._store.noted() as asked:
            findings = super().__call__(file, wanted)
        if all(each.code != INTERNAL for each in findings):
            self._store.put(file.path, file.raw, codes, findings, tuple(asked))
        return findings

    def end(self) -> None:
        self._store.save()

    def _listed(self, wanted: Wanted) -> str:
        """The codes that are wanted."""
        found = self._codes.get(wanted)
        if found is None:
            found = " ".join(code for code, _ in catalogue() if wanted is None or wanted(code))
            self._codes[wanted] = found
        return found
