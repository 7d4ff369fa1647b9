"""What a rule reports: a finding, where it is, and the evidence for it.

Lines are 1-based; columns are 0-based and count code points (not bytes, not UTF-16 units),
so that `line[col:end_col]` is the text meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

BOUND = "TLK003"
"""The code of what says that a file was not analysed in full."""
OF_CALLS = "calls-bound"
"""Its slug where following the calls takes too long."""
OF_PROJECT = "project-bound"
"""Its slug where all of the file was, and not all that it leads to: other files of its project, calls of calls."""


class Severity(str, Enum):
    """How much a finding costs, by measurement.

    ERROR grows without bound or corrupts data; WARNING is bounded or small; NOTE is a hint.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def reaches(self, least: Severity) -> bool:
        """Whether it is as bad as `least`, or worse."""
        order = list(Severity)
        return order.index(self) <= order.index(least)


class FixLevel(str, Enum):
    """How far a fix may be trusted: SAFE keeps meaning, UNSAFE may change type, timing or cost, HINT is advice."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    HINT = "hint"


@dataclass(frozen=True, order=True, slots=True)
class Span:
    """A half-open stretch of source text: `line` and `end_line` 1-based, columns 0-based code points."""

    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(frozen=True, slots=True)
class Note:
    """One piece of evidence: a second place, and why it matters (one line of text).

    path: the file it is in, if that is another one.
    """

    span: Span
    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that takes the place of a span; what is inserted has a span that begins where it ends."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to end a leak: what it does, in words for a person, and the edits that do it.

    early: applied before others, in a pass of its own, for it can make them needless (gradients off for a function).
    """

    level: FixLevel
    title: str
    edits: tuple[Edit, ...]
    early: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak at one place. `message` is one line without a trailing period; `notes` are its evidence.

    fixes: what could be applied, the best first (only from `lint(..., fixes=True)`); remedy: what a person would do
    instead or besides, one line; unfixed: why a rule that has a fix offers none here; reason: why it is a note and
    no more, in words that go on from "only a note: ", if it is one and anything is to be said of that; under: code
    and place of the finding that has the same cause and the better remedy, if that rule finds anything there;
    members: those that stand under this one (`gathered`), each of them the last of its notes, too; conventions:
    what only names say and the finding rests on, in words (only from `conventions.resting`).
    """

    code: str
    slug: str
    message: str
    span: Span
    severity: Severity
    fix: FixLevel
    notes: tuple[Note, ...] = field(default=())
    fixes: tuple[Fix, ...] = ()
    remedy: str = ""
    unfixed: str = ""
    under: tuple[str, Span] | None = None
    members: tuple[Finding, ...] = ()
    conventions: tuple[str, ...] = ()
    reason: str = ""

    @property
    def all_fixes(self) -> tuple[Fix, ...]:
        """Its own fixes, then those of its members, each once."""
        return tuple(dict.fromkeys((*self.fixes, *(fix for each in self.members for fix in each.fixes))))

    @property
    def fixable(self) -> FixLevel | None:
        """The mildest level at which it can be fixed; None if it cannot be."""
        levels = {each.level for each in self.fixes}
        return FixLevel.SAFE if FixLevel.SAFE in levels else FixLevel.UNSAFE if levels else None

    def sort_key(self) -> tuple[Span, str, str, tuple[tuple[str, Span, str], ...]]:
        """Order of a report: by place, then code, then text, then evidence: the same in every process."""
        return (self.span, self.code, self.message, tuple((each.path, each.span, each.text) for each in self.notes))


def is_told(finding: Finding, least: Severity) -> bool:
    """Whether a finding is worth telling whoever asked for those of at least the severity `least`.

    What is said about ourselves (0xx) always is, but for what was not followed to its end: a note as others. Rules
    that are off by default (9xx) find notes: who selects one asks for its notes, unless `least` is an error.
    """
    if finding.slug == OF_PROJECT:
        return finding.severity.reaches(least)
    if finding.code.startswith("TLK0") or (finding.code.startswith("TLK9") and least is not Severity.ERROR):
        return True
    return finding.severity.reaches(least)


def gathered(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each cause: those that stand under another one of `findings` become notes of it.

    To be asked last, of what is shown: where the other one is not selected, or hidden, they stand for themselves, and
    where it is only a note and they are more. It takes their severity where that is worse.
    """
    findings = list(findings)
    leaders = {(each.code, each.span): each for each in findings}
    members: dict[Finding, list[Finding]] = {}
    alone = []
    for each in findings:
        leader = leaders.get(each.under) if each.under is not None else None
        if leader is None or (leader.severity is Severity.NOTE and each.severity is not Severity.NOTE):
            alone.append(each)
        else:
            members.setdefault(leader, []).append(each)
    return [_with(each, members.get(each, [])) for each in alone]


def _with(leader: Finding, members: list[Finding]) -> Finding:
    worst = min((leader, *members), key=lambda each: list(Severity).index(each.severity))
    return replace(
        leader,
        severity=worst.severity,
        reason=leader.reason if worst.severity is Severity.NOTE else "",
        notes=(*leader.notes, *(Note(each.span, f"{each.code}: {each.message}") for each in members)),
        members=tuple(members),
    )
