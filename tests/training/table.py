"""Counts of what was made and what became of it, by construct, and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.training.judge import Verdict

COLUMNS = ("programs", "escape", "raise", "found", "changed", "as meant", "kept less", "looks", "failed")
ALL = "all, each once"


class Table:
    """Counts by construct (every one that a program holds), by rule, and failures by what they are."""

    def __init__(self) -> None:
        self.by_construct: dict[str, Counter[str]] = {}
        self.rules: Counter[str] = Counter()
        self.failures: Counter[tuple[str, str, str]] = Counter()
        """By failure, rules and escape."""
        self.programs: dict[tuple[str, str, str], Verdict] = {}
        """The shortest program of each failure."""

    def add(self, verdict: Verdict) -> None:
        """Count one program."""
        for construct in (ALL, *verdict.program.tags):
            self.by_construct.setdefault(construct, Counter()).update(_counted(verdict))
        self.rules.update(verdict.mended.fixed)
        if verdict.failure:
            key = (verdict.failure, " ".join(sorted(verdict.mended.fixed)), verdict.program.escape)
            self.failures[key] += 1
            shortest = self.programs.get(key)
            if shortest is None or len(verdict.program.text) < len(shortest.program.text):
                self.programs[key] = verdict

    def counts(self, name: str = ALL) -> Counter[str]:
        """The counts of a construct, or of all programs."""
        return self.by_construct.get(name, Counter())

    def lines(self) -> Iterable[str]:
        """The table."""
        yield "construct".ljust(16) + "".join(each.rjust(10) for each in COLUMNS)
        for name in [ALL, *sorted(self.by_construct.keys() - {ALL})]:
            counts = self.by_construct.get(name, Counter())
            yield name.ljust(16) + "".join(str(counts[each]).rjust(10) for each in COLUMNS)
        if self.rules:
            yield "fixes applied: " + ", ".join(f"{count} x {code}" for code, count in sorted(self.rules.items()))
        for (failure, rules, escape), count in sorted(self.failures.items(), key=lambda each: -each[1]):
            yield f"{count:5} x {failure}; fixed {rules}; escape: {escape or 'none'}"


def _counted(verdict: Verdict) -> Counter[str]:
    kept = verdict.kept
    return Counter(
        {
            "programs": 1,
            "escape": bool(verdict.program.escape),
            "raise": bool(verdict.before and verdict.before.error),
            "found": bool(verdict.mended.fixed or verdict.mended.left),
            "changed": verdict.changed,
            "as meant": verdict.as_meant,
            "kept less": kept is not None and (kept[1].graph < kept[0].graph or kept[1].memory < kept[0].memory),
            "looks": bool(verdict.failure) and verdict.program.looks,
            "failed": bool(verdict.failure) and not verdict.program.looks,
        }
    )
