"""What can be done about a finding: apply its fix, silence it here or in the settings, read more.

Fixes are those of the command, and checked in the same way: what does not hold is not offered, or, where the editor
asks for the edit only when somebody chooses it, said not to hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from flake8_torchleak.finding import BOUND, Finding, Fix, FixLevel
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.server.checking import Checker
from flake8_torchleak.server.documents import View
from flake8_torchleak.shells.comments import annotated
from flake8_torchleak.shells.repair import applied, mended, tidied
from flake8_torchleak.shells.selection import UNUSED

FIX, SILENCE = "fix", "silence"


class Offer(NamedTuple):
    """Something that would change a text. code and number (of the fixes that the code has there) tell it again."""

    title: str
    kind: str
    finding: Finding
    safe: bool = False
    fix: Fix | None = None


def offers(finding: Finding) -> Iterator[Offer]:
    """What can be done about one finding, and about those of the same cause."""
    for each in (finding, *finding.members):
        for one in sorted(each.fixes, key=lambda fix: fix.level is not FixLevel.SAFE):
            safe = one.level is FixLevel.SAFE
            manner = "" if safe else " (unsafe: may change type, timing or cost)"
            yield Offer(f"Fix {each.code}{manner}: {one.title}", FIX, each, safe, one)
    if finding.code not in (BOUND, UNUSED):
        codes = " and ".join(sorted({each.code for each in (finding, *finding.members)}))
        yield Offer(f"Silence {codes} here with `# noqa`", SILENCE, finding)


def result(checker: Checker, view: View, offer: Offer) -> str:
    """The text as an offer makes it; the same text where that does not hold."""
    if offer.fix is None:
        return annotated(view.text, [offer.finding, *offer.finding.members])
    if offer.finding.code == UNUSED:
        return applied(view.text, [offer.finding])
    policy, wanted = checker.policies.of(view.path).policy, offer.fix

    def only(finding: Finding) -> Finding:
        levelled = policy.levels.apply(finding)
        return replace(levelled, fixes=tuple(each for each in levelled.fixes if each == wanted))

    with checker.reading():
        takes = policy.takes(view.path)
        return fix(view.text, policy.config, not offer.safe, takes, view.path or None, only).text


def all_safe(checker: Checker, view: View) -> str:
    """The text as `torchleak check --fix` makes it; the same text where it does not parse."""
    policy = checker.policies.of(view.path).policy
    if not checker.fixable(view):
        return view.text
    with checker.reading():
        return tidied(policy, mended(policy, view.path, view.text, unsafe=False))[1]
