"""`# noqa` comments of ours: those that hide nothing, and those that would hide what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flake8_torchleak.finding import BOUND, Edit, Finding, Fix, FixLevel, Severity, Span
from flake8_torchleak.shells.selection import INTERNAL, UNUSED
from flake8_torchleak.source import Source
from flake8_torchleak.suppress import INLINE, WHOLE_FILE, Comment, Suppressions

_OURS = "TLK"
_BETWEEN = " \t,:;-–—"
"""What may stand between the codes and the reason."""


def unused(text: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """A finding, with its fix, for each comment with codes of ours that hide nothing.

    findings: all of the text, of unselected rules too: what is not asked for today is no reason to drop a comment.
    """
    found = list(findings)
    if any(each.code in (INTERNAL, BOUND) for each in found):
        return  # Nobody knows what the rule that failed, or looked at a part, would have found.
    lines = Source(text).lines
    for comment in Suppressions(text).comments():
        hidden = [each.code for each in found if comment.first <= each.span.line <= comment.last]
        codes = _codes(comment)
        idle = [
            each
            for each in codes
            if each[0].upper().startswith(_OURS) and not any(code.startswith(each[0]) for code in hidden)
        ]
        if idle:
            yield _unused(comment, lines[comment.last - 1].rstrip("\r\n"), codes, idle)


def annotated(text: str, findings: Iterable[Finding]) -> str:
    """The text with comments that hide `findings`, of which none is hidden yet.

    A comment with codes gets more of them. Where a string holds what flake8 takes for the comment, nothing is added.
    """
    suppressions = Suppressions(text)
    wanted: dict[int, set[str]] = {}
    for each in findings:
        comment = suppressions.comment(each.span.line)
        line = comment.last if comment else suppressions.place(each.span.line)
        if line:
            wanted.setdefault(line, set()).add(each.code)
    lines = list(Source(text).lines)
    for line, codes in wanted.items():
        more = ", ".join(sorted(codes))
        body = lines[line - 1].rstrip("\r\n")
        end = lines[line - 1][len(body) :]
        comment = suppressions.comment(line)
        if comment:
            at = _end(comment)
            body = f"{body[:at]}, {more}{body[at:]}"
        else:
            body = f"{body.rstrip()}  # noqa: {more}"
        lines[line - 1] = body + end
    return "".join(lines)


def _codes(comment: Comment) -> list[re.Match[str]]:
    """The codes that a comment names, with their places in the list of them."""
    return list(re.finditer(r"[^,\s]+", comment.match["codes"] or ""))


def _end(comment: Comment) -> int:
    """The column where the last code of a comment ends."""
    return comment.match.start("codes") + _codes(comment)[-1].end()


def _unused(comment: Comment, line: str, codes: list[re.Match[str]], idle: list[re.Match[str]]) -> Finding:
    start, end = comment.match.start(), _end(comment)
    span = Span(comment.last, start, comment.last, end)
    unfixed = ""
    if len(idle) < len(codes):
        start, text = comment.match.start("codes"), _without(comment.match["codes"], codes, idle)
    else:
        start, end, text = _gone(comment, line)
        after = line[:start] + text + line[end:]
        if INLINE.search(after, comment.begins) or WHOLE_FILE.match(after):
            unfixed = "the rest of the comment would be read as a `# noqa` then"
    edit = Edit(Span(comment.last, start, comment.last, end), text)
    names = ", ".join(each[0] for each in idle)
    return Finding(
        UNUSED,
        "unused-noqa",
        f"`# noqa: {names}` hides nothing",
        span,
        Severity.NOTE,
        FixLevel.SAFE,
        fixes=() if unfixed else (Fix(FixLevel.SAFE, f"remove `{names}` from the comment", (edit,)),),
        unfixed=unfixed,
    )


def _without(text: str, codes: list[re.Match[str]], idle: list[re.Match[str]]) -> str:
    """A list of codes without some: each of the others keeps what separates it from the next."""
    ends = [each.start() for each in codes[1:]] + [codes[-1].end()]
    kept = [(each, text[each.start() : end]) for each, end in zip(codes, ends) if each not in idle]
    return "".join(part for _, part in kept[:-1]) + kept[-1][0][0]


def _gone(comment: Comment, line: str) -> tuple[int, int, str]:
    """The edit (start, end, text) of a line that takes a whole directive away: what else the comment says stays.

    Blanks in front go with it. A line with nothing else is left empty, so that no other line moves.
    """
    start, end = comment.match.start(), _end(comment)
    rest = line[end:].lstrip(_BETWEEN)
    if rest.strip():
        return start, len(line) - len(rest), "" if rest.startswith("#") else "# "
    if not line[comment.begins : start].strip("# \t"):
        start = comment.begins
    return len(line[:start].rstrip()), len(line), ""
