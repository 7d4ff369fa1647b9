"""What a run reports of what it finds: selection, `# noqa`, baseline, and the level at which each may be fixed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from flake8_torchleak.config import OPTIONS, Config
from flake8_torchleak.finding import Finding, Severity, Span, is_told
from flake8_torchleak.shells.globs import Globs
from flake8_torchleak.shells.levels import Levels
from flake8_torchleak.shells.selection import INTERNAL, Selection
from flake8_torchleak.shells.settings import Setting
from flake8_torchleak.suppress import Suppressions

if TYPE_CHECKING:
    from flake8_torchleak.shells.baseline import Baseline


class Policy:
    """The settings of a run, applied to what is found in each file.

    baseline: hides old findings, if there is one. report_unused: whether a `# noqa` that hides nothing is a finding.
    heeds: whether `# noqa` comments hide anything.
    """

    def __init__(
        self, settings: Mapping[str, Setting], baseline: Baseline | None = None, *, heeds: bool = True
    ) -> None:
        value = {name: each.value for name, each in settings.items()}
        self.config = Config(**{option.field: value[option.name] for option in OPTIONS})
        self.levels = Levels(value["extend-safe-fixes"], value["extend-unsafe-fixes"], value["unfixable"])
        self.baseline = baseline
        self._heeds = heeds
        self.report_unused: bool = value["report-unused-noqa"]
        self._least = Severity(self.config.min_severity)
        ignored = value["ignore"] + value["extend-ignore"]
        self._selection = Selection(value["select"], value["extend-select"], ignored)
        self._by_file = [(Globs([glob]), codes) for glob, codes in value["per-file-ignores"]]
        self._takers: dict[tuple[str, ...], Callable[[str], bool]] = {}
        self._hidden = self._below = 0
        self._read: tuple[str, Suppressions] | None = None
        """The text whose comments were asked for last."""

    def takes(self, path: str) -> Callable[[str], bool]:
        """Whether findings of a code are reported in the file at `path`."""
        ignored: tuple[str, ...] = ()
        if self._by_file:
            place = os.path.abspath(path)
            ignored = tuple(code for globs, codes in self._by_file if globs.cover(place) for code in codes)
        if ignored not in self._takers:
            self._takers[ignored] = self._selection.without(ignored).takes
        return self._takers[ignored]

    def wanted(self, path: str) -> Callable[[str], bool] | None:
        """The codes worth looking for in a file; None where all are: they tell what vanished, and what is unused."""
        return None if self.reads_all else self.takes(path)

    @property
    def reads_all(self) -> bool:
        """Whether each file's text matters, even if nothing is found in it."""
        return self.report_unused or self.baseline is not None

    def tells(self, finding: Finding) -> bool:
        """Whether a finding is as bad as `min-severity` asks."""
        return is_told(finding, self._least)

    def selected(self, path: str, text: str, found: Iterable[Finding]) -> list[Finding]:
        """Those of all that was found in a text that are selected, and that no `# noqa` hides."""
        return [each for each in self.taken(path, text, found) if self.tells(each)]

    def taken(self, path: str, text: str, found: Iterable[Finding]) -> list[Finding]:
        """As `selected`, of every severity."""
        return [self.levels.apply(each) for each in self._standing(path, text, found)]

    def _hides(self, text: str) -> Callable[[str, int], bool]:
        """Whether a comment in a text hides findings of a code in a line."""
        if not self._heeds:
            return lambda code, line: False
        if self._read is None or self._read[0] is not text:  # several things are asked of one after the other
            self._read = text, Suppressions(text)
        return self._read[1].hides

    def _standing(self, path: str, text: str, found: Iterable[Finding]) -> list[Finding]:
        """The same, with the levels of fixes as the rules give them."""
        takes, hides = self.takes(path), self._hides(text)
        return [each for each in found if takes(each.code) and not hides(each.code, each.span.line)]

    def shown(self, path: str, text: str, found: Iterable[Finding], whole: bool = True) -> list[Finding]:
        """What is reported of all that was found in a text. To be called once for each file."""
        return self.fresh(path, text, found, self.selected(path, text, found), whole)

    def fresh(
        self, path: str, text: str, found: Iterable[Finding], shown: Collection[Finding], whole: bool = True
    ) -> list[Finding]:
        """Those of `shown` that no baseline lists, and with them what is said of comments in the text.

        whole: all of the file was checked, so that what is not found there has vanished.

        To be called once for each file, with the text that is in it at the end and all that was `found` there.
        """
        fresh = list(shown)
        if not all(map(self.tells, found)):
            self._below += sum(not self.tells(each) for each in self._standing(path, text, found))
        if self.baseline is not None:
            hides = self._hides(text)
            standing = [each for each in found if not hides(each.code, each.span.line)]
            self.baseline.meet(path, text, standing, whole and not any(each.code == INTERNAL for each in standing))
            old = self.old(path, text, shown)
            fresh = [each for each in shown if (each.code, each.span) not in old]
            self._hidden += len(shown) - len(fresh)
        return self._commented(text, found, fresh)

    def standing(self, path: str, text: str, found: Iterable[Finding]) -> list[Finding]:
        """What is reported of all that was found in a text, without taking note of it: as often as one likes."""
        shown = self.selected(path, text, found)
        old = self.old(path, text, shown)
        return self._commented(text, found, [each for each in shown if (each.code, each.span) not in old])

    def _commented(self, text: str, found: Iterable[Finding], shown: list[Finding]) -> list[Finding]:
        if not self.report_unused:
            return shown
        from flake8_torchleak.shells.comments import unused

        return sorted([*shown, *unused(text, found)], key=Finding.sort_key)

    def old(self, path: str, text: str, shown: Iterable[Finding]) -> set[tuple[str, Span]]:
        """Code and place of those findings that the baseline lists."""
        return self.baseline.covered(path, text, shown) if self.baseline is not None else set()

    def summary(self) -> list[str]:
        """Lines that say what was left out, and what the baseline did."""
        below = self._below
        what = f"note{'s' * (below != 1)}" if self._least is Severity.WARNING else "notes and warnings"
        lines = [f"Not shown: {below} {what}; --min-severity=note shows all."] * bool(below)
        if self.baseline is None:
            return lines
        hidden = self._hidden
        lines.append(f"Hidden by the baseline: {hidden} finding{'s' * (hidden != 1)}.")
        vanished = self.baseline.vanished()
        if vanished:
            lines.append(
                f"No longer in the code: {vanished} finding{'s' * (vanished != 1)} of the baseline; "
                "`torchleak baseline prune` removes them."
            )
        return lines
