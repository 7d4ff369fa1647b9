"""What `lint` says of a program, beside what the program retains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Finding, Severity
from flake8_torchleak.lint import lint
from tests.training.program import Files, on_disk
from tests.truth.case import HOLDER, KEEP, Case, Place
from tests.truth.census import BATCH, CACHE, FIGURE, GRAPH, HOOK, LOADED, SAMPLE, STATE, VIEW, Label

CLAIMS = {
    "TLK401": GRAPH, "TLK402": GRAPH, "TLK403": GRAPH, "TLK406": GRAPH, "TLK601": GRAPH, "TLK904": GRAPH,
    "TLK404": BATCH, "TLK405": LOADED,
    "TLK205": VIEW,
    "TLK101": STATE, "TLK102": STATE, "TLK103": STATE, "TLK106": STATE, "TLK901": STATE, "TLK902": STATE,
    "TLK104": CACHE,
    "TLK201": SAMPLE, "TLK202": SAMPLE, "TLK203": SAMPLE, "TLK206": SAMPLE, "TLK903": SAMPLE,
    "TLK408": GRAPH, "TLK604": HOOK, "TLK910": FIGURE,
}  # fmt: skip
"""What each code says is retained. Other codes (evaluation without no_grad, slow calls ...) say nothing of that."""

FOUND, ELSEWHERE, NOTED, MISSED, FALSE, SILENT = "found", "elsewhere", "noted", "missed", "false", "silent"
"""Of a program that retains: found at the line or holder, at another place only, by a note only, or not at all; of one
that does not: a false alarm, or silence. Notes are shown on request only: they are no alarm, and no find."""


@dataclass(frozen=True)
class Claim:
    """A finding that says something is retained. place: its first line; exact: it is a statement that keeps."""

    code: str
    place: Place
    note: bool
    exact: bool = False
    near: bool = False


@dataclass(frozen=True)
class Outcome:
    """One program, its label and what was said of it. extra: claims of what the program does not retain."""

    case: Case
    label: Label
    claims: tuple[Claim, ...]
    result: str
    exact: bool = False

    @property
    def codes(self) -> str:
        return " ".join(sorted({each.code + ("?" if each.note else "") for each in self.claims}))


def findings(files: Files) -> Iterator[tuple[str, Finding]]:
    """All findings, opinionated ones too, with the file."""
    with on_disk(files) as folder:
        for path in sorted(files):
            for each in lint(files[path], DEFAULT, path=str(folder / path)):
                yield path, each


def compare(case: Case, label: Label) -> Outcome:
    """Lint the program, and see whether it says what the label says."""
    accepted = _statements(case, case.marks[KEEP])
    near = accepted | _statements(case, case.marks[HOLDER]) | label.made
    claims = []
    for path, each in findings(case.files):
        if each.code in CLAIMS:
            place = path, each.span.line
            note = each.severity is Severity.NOTE
            anywhere = not case.marks[KEEP]
            claims.append(Claim(each.code, place, note, place in accepted, anywhere or place in near))
    right = [each for each in claims if CLAIMS[each.code] in label.growth and each.near]
    loud = [each for each in claims if not each.note]
    if not label.retains:
        result = FALSE if loud else SILENT
    elif any(not each.note for each in right):
        result = FOUND
    elif right:
        result = NOTED
    else:
        result = ELSEWHERE if loud else MISSED
    exact = any(each.exact and not each.note for each in right)
    return Outcome(case, label, tuple(claims), result, exact)


def _statements(case: Case, places: frozenset[Place]) -> set[Place]:
    """All lines of the simple statements, and of the headers, that these lines belong to."""
    found = set(places)
    for path, text in case.files.items():
        lines = {line for file, line in places if file == path}
        if not lines:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.stmt) and node.lineno in lines and not hasattr(node, "body"):
                found |= {(path, line) for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return found
