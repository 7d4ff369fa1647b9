"""What the reports share: the words for a finding, and what a terminal can show. Columns are 1-based, as in flake8."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from typing import TextIO

from flake8_torchleak.addresses import rule_page
from flake8_torchleak.finding import Finding, Fix, FixLevel, Note, Severity
from flake8_torchleak.shells.fold import folded
from flake8_torchleak.source import Source
from flake8_torchleak.wording import leading, printable

_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}


def wants_colour(stream: TextIO, when: str) -> bool:
    """Whether to colour what goes to `stream`: `when` is "always", "never" or "auto".

    "auto" asks the environment in the order in which Python itself does: NO_COLOR, FORCE_COLOR, TERM, the stream.
    """
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()


_KNOW_LINKS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "WarpTerminal")
"""Values of TERM_PROGRAM: terminals that document OSC 8, the escape of hyperlinks."""


def wants_links(stream: TextIO) -> bool:
    """Whether `stream` is a terminal that is known to show hyperlinks; FORCE_HYPERLINK says yes (or, as 0, no).

    Terminals do not tell: others print the escape as it is, so that one in doubt gets none.
    """
    env = os.environ
    if "FORCE_HYPERLINK" in env:
        return env["FORCE_HYPERLINK"] != "0"
    if not stream.isatty() or env.get("CI"):
        return False
    vte = env.get("VTE_VERSION", "")
    return (
        env.get("TERM_PROGRAM") in _KNOW_LINKS
        or env.get("TERM") in ("xterm-kitty", "alacritty", "foot", "xterm-ghostty", "contour")
        or not env.keys().isdisjoint(("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
        or (vte.isdigit() and int(vte) > 5000)  # 0.50.0 crashes
    )


def label(finding: Finding) -> str:
    """The finding in words, without its place and its severity: code, message, name."""
    return printable(f"{finding.code} {finding.message} [{finding.slug}]")


def headline(
    path: str, finding: Finding, source: Source, colour: bool = False, links: bool = False, width: int = 0
) -> str:
    """The finding on one line, its place in `source` first; on several of at most `width` columns, if that is not 0.

    links: whether the code is a link to the page of its rule.
    """
    place = f"{leading(path)}:{source.place(finding.span.line)}:{finding.span.col + 1}:"
    severity = f"{finding.severity.value}:"
    line = folded(f"{place} {finding.code} {severity}{label(finding).removeprefix(finding.code)}", width)
    if not colour:
        return line
    # Escapes have no width, so they come after the folding, which may have broken the line anywhere between words.
    code = tinted(finding.code, tint(finding))
    if links:
        code = f"\x1b]8;;{rule_page(finding.code)}\x1b\\{code}\x1b]8;;\x1b\\"
    at = len(place) if line.startswith(place) else 0
    before, blank, rest = re.split(rf"(?<=\s){finding.code}(\s+){severity}", line[at:], maxsplit=1)
    return f"{tinted(line[:at], '1' * bool(at))}{before}{code}{blank}{tinted(severity, tint(finding))}{rest}"


def evidence(note: Note, source: Source) -> str:
    """A note in words, its place first: in `source`, if it has no path."""
    place = f"{note.path}:{note.span.line}" if note.path else source.place(note.span.line).words
    return printable(f"note: {place}: {note.text}")


def advice(finding: Finding, source: Source) -> Iterator[str]:
    """Why it is only a note, and what can be done: the fix (or why there is none), or else the remedy."""
    if finding.reason:
        yield printable(f"only a note: {placed(finding.reason, source)}")
    mildest = next((fix for fix in finding.fixes if fix.level is finding.fixable), None)
    if mildest is not None:
        yield printable(f"fix ({mildest.level.value}): {mildest.title}")
    if finding.unfixed and (mildest is not None or finding.fix is not FixLevel.HINT):
        yield printable(f"not fixed: {placed(finding.unfixed, source)}")
    if finding.remedy and mildest is None:
        yield printable(f"remedy: {finding.remedy}")


def safe_fix(finding: Finding) -> Fix | None:
    """The fix that a program may apply without asking, if there is one."""
    return next((fix for fix in finding.fixes if fix.level is FixLevel.SAFE), None)


def placed(text: str, source: Source) -> str:
    """A sentence that names lines of `source`, as the user counts them."""
    return re.sub(r"\bline (\d+)\b", lambda line: source.place(int(line[1])).words, text)


def statistics(counts: dict[tuple[str, str], int]) -> str:
    """How often each (code, slug) was found, the code first."""
    return "".join(f"{count:>6} {code} {slug}\n" for (code, slug), count in sorted(counts.items()))


def width(char: str) -> int:
    """The columns of a terminal that `char` fills: 2 for wide ones, 0 for those drawn onto the one before."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def tint(finding: Finding) -> str:
    """The colour of a finding's severity."""
    return _COLOURS[finding.severity]


def tinted(text: str, colour: str) -> str:
    """`text` in a colour; as it is if that is empty."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text
