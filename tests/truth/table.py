"""Rates of false alarms and missed leaks: by cell of kind x holder x form, and by each choice alone.

A rate over a set of programs is an average over cells, each counting the same, so that what the generator makes most
of does not decide. A cell counts where it has `LEAST` programs or more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.truth.compare import ELSEWHERE, FALSE, FOUND, MISSED, NOTED, SILENT

LEAST = 20
"""Programs of a cell, at least."""
RESULTS = (FOUND, ELSEWHERE, NOTED, MISSED, FALSE, SILENT)
_NOTES = "notes alone"
"""Programs that retain nothing, and of which notes tell something."""
BY = ("kind", "holder", "form", "release", "where", "loop", "ending", "names", "stage")
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Row:
    """One program in the table: its choices, what became of it, and the codes that were claimed."""

    number: int
    cell: Mapping[str, str]
    result: str
    exact: bool = False
    codes: str = ""
    families: str = ""
    error: str = ""

    @property
    def key(self) -> Key:
        return self.cell["kind"], self.cell["holder"], self.cell["form"]


@dataclass
class Rates:
    """Shares of missed leaks among programs that retain, and of false alarms among those that do not.

    Averages over cells; None where there is no such program. cells: how many were averaged.
    """

    missed: float | None
    false: float | None
    cells: int
    counts: Counter[str] = field(default_factory=Counter)
    missed_by_all: float | None = None
    """The share that no finding and no note tells."""
    told_of_none: float | None = None
    """The share of programs that retain nothing of which a finding or a note tells something."""


class Table:
    """Rows, and rates of any part of them. Programs that raise are counted apart."""

    def __init__(self, rows: Iterable[Row] = (), least: int = LEAST) -> None:
        self.least = least
        self.rows: list[Row] = []
        self.raised: Counter[str] = Counter()
        for each in rows:
            self.add(each)

    def add(self, row: Row) -> None:
        if row.error:
            self.raised[row.error.partition(":")[0]] += 1
        else:
            self.rows.append(row)

    @property
    def retaining(self) -> float:
        """The share of programs that retain something."""
        return sum(each.result not in (FALSE, SILENT) for each in self.rows) / max(1, len(self.rows))

    def counted(self) -> tuple[set[Key], dict[Key, int]]:
        """The cells with enough programs, and the others with what they have."""
        sizes = Counter(each.key for each in self.rows)
        return {key for key, size in sizes.items() if size >= self.least}, {
            key: size for key, size in sizes.items() if size < self.least
        }

    def rates(self, question: str = "", answer: str = "") -> Rates:
        """Of the programs with that answer, over counted cells."""
        cells, _ = self.counted()
        by_cell: dict[Key, Counter[str]] = {}
        for each in self.rows:
            if each.key in cells and (not question or each.cell.get(question) == answer):
                counts = by_cell.setdefault(each.key, Counter())
                counts[each.result] += 1
                if each.result == SILENT and each.codes:
                    counts[_NOTES] += 1
        parts = by_cell.values()
        total = sum(parts, Counter[str]())
        return Rates(
            _mean(_missed(each, FOUND) for each in parts),
            _mean(_false(each, FALSE) for each in parts),
            len(by_cell),
            total,
            _mean(_missed(each, FOUND, NOTED) for each in parts),
            _mean(_false(each, FALSE, _NOTES) for each in parts),
        )

    def lines(self) -> Iterator[str]:
        """The table as text."""
        cells, small = self.counted()
        yield f"{len(self.rows)} programs, {self.retaining:.0%} of them retaining; {sum(self.raised.values())} raised"
        if self.raised:
            yield "raised: " + ", ".join(f"{count} x {name}" for name, count in self.raised.most_common())
        yield f"{len(cells)} cells with {self.least} programs or more; {len(small)} with fewer, not counted"
        header = "".join(each.rjust(10) for each in (*RESULTS, "cells", "missed", "false"))
        for question in ("", *BY):
            yield ""
            yield (question or "all").ljust(24) + header
            for answer in sorted({each.cell.get(question, "") for each in self.rows}) if question else [""]:
                rates = self.rates(question, answer)
                counts = "".join(str(rates.counts[each]).rjust(10) for each in RESULTS)
                shares = share(rates.missed).rjust(10) + share(rates.false).rjust(10)
                yield (answer or "every program").ljust(24) + counts + str(rates.cells).rjust(10) + shares

    def worst(self, most: int = 40) -> Iterator[str]:
        """The commonest disagreements: what was missed or false, by kind, holder, form and ending."""
        wrong = [each for each in self.rows if each.result not in (FOUND, SILENT)]
        found = Counter((each.result, *each.key) for each in wrong)
        for (result, kind, holder, form), count in found.most_common(most):
            yield f"{count:5} x {result}: {kind}, {holder}, {form}"

    def disagreements(self, most: int) -> Iterator[tuple[str, int]]:
        """A program of each of the commonest disagreements, by result, kind and form; with its number."""
        wrong = [each for each in self.rows if each.result not in (FOUND, SILENT)]
        counts = Counter((each.result, each.cell["kind"], each.cell["form"]) for each in wrong)
        for key, _ in counts.most_common(most):
            first = next(each for each in wrong if (each.result, each.cell["kind"], each.cell["form"]) == key)
            yield first.result, first.number


def share(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.1%}"


def _missed(counts: Counter[str], *found: str) -> float | None:
    retaining = sum(counts[each] for each in (FOUND, ELSEWHERE, NOTED, MISSED))
    return (retaining - sum(counts[each] for each in found)) / retaining if retaining else None


def _false(counts: Counter[str], *told: str) -> float | None:
    clean = counts[FALSE] + counts[SILENT]
    return sum(counts[each] for each in told) / clean if clean else None


def _mean(rates: Iterable[float | None]) -> float | None:
    known = [each for each in rates if each is not None]
    return sum(known) / len(known) if known else None
