"""`--show=N`: of a long report a screenful, the first finding of each rule before the second of any."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.shells import formats
from flake8_torchleak.source import Source

_WORST_FIRST = tuple(Severity)


class Sample(formats.Report):
    """Holds back what another report makes of findings, and gives out `count` of them at the end, in their order."""

    def __init__(self, whole: formats.Report, count: int) -> None:
        super().__init__(whole.colour)
        self._whole, self._count = whole, count
        self._met: Counter[str] = Counter()
        self._kept: list[tuple[tuple[int, int, int], str]] = []

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        for each in findings:
            rank = (self._met[each.code], _WORST_FIRST.index(each.severity), self._met.total())
            self._met[each.code] += 1
            if rank[0] < self._count:  # later ones of the same rule can never be among the first
                self._kept.append((rank, self._whole.file(path, [each], source)))
        return ""

    def end(self, complaints: Sequence[formats.Complaint]) -> str:
        chosen = sorted(self._kept)[: self._count]
        left = self._met.total() - len(chosen)
        more = f"{left} more finding{'s' * (left != 1)} not shown: leave out --show to see all.\n" if left else ""
        return (
            "".join(text for _, text in sorted(chosen, key=lambda each: each[0][2]))
            + more
            + self._whole.end(complaints)
        )
