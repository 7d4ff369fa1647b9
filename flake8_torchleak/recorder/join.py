"""What the linter found and what the recorder saw, side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from flake8_torchleak.finding import Finding
from flake8_torchleak.recorder.result import Kept, Record, Site

RULES: Mapping[str, tuple[str, ...]] = {
    "graph": ("TLK401", "TLK402", "TLK403", "TLK406", "TLK407", "TLK408", "TLK502", "TLK6", "TLK904", "TLK905"),
    "unheld": ("TLK401", "TLK402", "TLK403", "TLK406", "TLK408", "TLK6"),
    "batch": ("TLK404", "TLK405"),
    "worker": ("TLK101", "TLK102", "TLK103", "TLK106", "TLK901", "TLK902"),
    "cache": ("TLK104", "TLK205"),
    "hook": ("TLK604",),
    "figure": ("TLK910",),
    "thread": ("TLK301",),
    "data": ("TLK201", "TLK202", "TLK203", "TLK206", "TLK903"),
    "evaluation": ("TLK501",),
}
"""By kind of what is kept, the rules (codes or prefixes) that report it in source."""

SUGGESTED: Mapping[str, str] = {
    "graph": "TLK402",
    "batch": "TLK404",
    "worker": "TLK101",
    "cache": "TLK104",
    "hook": "TLK604",
    "figure": "TLK910",
    "thread": "TLK301",
    "data": "TLK202",
    "evaluation": "TLK501",
}
"""The rule whose page tells most about a kind, for what was seen at run time only."""
_WITHOUT_GRAPH = ("TLK502", "TLK905")
"""Rules about outputs that are kept with or without a graph: of the latter the recorder sees nothing."""
_BEGINNINGS = ("set here", "created here")
"""What notes say of the lines where holders begin: others may begin there as well."""
_BINDS = re.compile(r"\s*(?:\w+\.)*(\w+)\s*=(?!=)")


class Verdict(str, Enum):
    """What a run says of a static finding."""

    CONFIRMED = "confirmed"
    NOT_TOLD_APART = "not told apart"
    NOT_SEEN = "not seen"
    NOT_JUDGED = "not judged"
    NOT_REACHED = "not reached"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judged:
    """A static finding of a file, what the run says of it, and what was kept there."""

    path: str
    finding: Finding
    verdict: Verdict
    kept: tuple[Kept, ...] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """judged: all static findings; unexpected: what was kept and no static finding names."""

    judged: tuple[Judged, ...]
    unexpected: tuple[Kept, ...]


Source = Callable[[str], Sequence[str]]
"""The lines of a file."""


def join(
    record: Record,
    findings: Mapping[str, Iterable[Finding]],
    hit: set[tuple[str, int]] | None,
    source: Source,
    tells: Callable[[Finding], bool] = lambda _: True,
) -> Joined:
    """Match findings, by path, with what was kept.

    hit: the lines that ran, of those that findings stand on; None: not known. source: where the findings' text is.
    tells: whether a finding is told whatever the run says of it; others are where something was kept.
    """
    shown = [each for each in record.kept if each.grows or each.kind in ("evaluation", "thread", "data")]
    judged: list[Judged] = []
    named: set[int] = set()
    for path, found in sorted(findings.items()):
        for finding in found:
            ran = _has_run(path, finding, hit)
            kept = tuple(each for each in shown if _same(each, path, finding, source, ran is not False))
            named |= {id(each) for each in kept}
            if kept or tells(finding):
                verdict = _verdict(finding, kept, ran)
                if verdict is Verdict.NOT_SEEN and any(_may_be(each, path, finding, source) for each in shown):
                    verdict = Verdict.NOT_TOLD_APART
                judged.append(Judged(path, finding, verdict, kept))
    return Joined(tuple(judged), tuple(each for each in shown if id(each) not in named))


def _has_run(path: str, finding: Finding, hit: set[tuple[str, int]] | None) -> bool | None:
    """Whether a line that a finding stands on has run; None: not known."""
    if hit is None:
        return None
    place = os.path.abspath(path)
    span = range(finding.span.line, finding.span.end_line + 1)
    return any(os.path.abspath(file) == place and line in span for file, line in hit)


def _verdict(finding: Finding, kept: Sequence[Kept], ran: bool | None) -> Verdict:
    if kept:
        return Verdict.CONFIRMED
    if ran is None:
        return Verdict.UNKNOWN
    if not ran:
        return Verdict.NOT_REACHED
    return Verdict.NOT_JUDGED if finding.code in _WITHOUT_GRAPH else Verdict.NOT_SEEN


def _may_be(kept: Kept, path: str, finding: Finding, source: Source) -> bool:
    """Whether a finding may be about what was kept under another name: what several hold is told of one of them.

    Its line reads a variable that is bound where that was made.
    """
    if not finding.code.startswith(RULES[kept.kind]):
        return False
    lines = source(path)
    made = [lines[each.line - 1] for each in kept.made if _is_file(each, path) and each.line <= len(lines)]
    bound = {found[1] for found in map(_BINDS.match, made) if found is not None}
    return not bound.isdisjoint(_words(lines, range(finding.span.line, finding.span.end_line + 1)))


def _same(kept: Kept, path: str, finding: Finding, source: Source, may_have_run: bool) -> bool:
    """Whether a finding is about what was kept: the rule fits the kind, and a line or the holder's name agrees.

    The name stands in its own line; or, if that may have run and names the object which has the holder, in the line of
    one of its notes: where a meter stores what it is handed.
    """
    if not finding.code.startswith(RULES[kept.kind]):
        return False
    span = range(finding.span.line, finding.span.end_line + 1)
    sites = [each for each in (*kept.made, kept.called) if each is not None and _is_file(each, path)]
    if any(site.line in span for site in sites):
        return True
    lines, name = source(path), holder_name(kept.pattern)
    notes = [note for note in finding.notes if not any(each in note.text for each in _BEGINNINGS)]
    words = [_words(source(each.path or path), range(each.span.line, each.span.line + 1)) for each in notes]
    own = _words(lines, span)
    owners = _names(kept.pattern)[1:-1]
    by_note = may_have_run and (not owners or not own.isdisjoint(owners)) and any(name in each for each in words)
    if name not in own and not by_note:
        return False
    noted = {(os.path.abspath(note.path or path), note.span.line) for note in finding.notes}
    # The holder's name stands in the line. An attribute's tells enough; a local's is asked where its value was made.
    told = any((os.path.abspath(site.path), site.line) in noted for site in kept.made)
    return told or bool(sites) or not kept.made or len(name) > 2


def _is_file(site: Site, path: str) -> bool:
    return os.path.abspath(site.path) == os.path.abspath(path)


def holder_name(pattern: str) -> str:
    """The last name in a path: `losses` of `train.losses[*]`, `rows` of `run.meter.rows[*]['loss']`."""
    return (_names(pattern) or [""])[-1]


def _names(pattern: str) -> list[str]:
    """All names in a path, from the function or module that it begins at."""
    return re.findall(r"(?:^|\.)(\w+)", re.sub(r"\[[^]]*\]|\{[^}]*\}", "", pattern))


def _words(lines: Sequence[str], span: range) -> set[str]:
    text = "\n".join(lines[span.start - 1 : span.stop - 1])
    return set(re.findall(r"\w+", text))
