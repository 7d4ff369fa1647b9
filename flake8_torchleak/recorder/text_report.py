"""The report as text, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flake8_torchleak.recorder import wording
from flake8_torchleak.recorder.growth import DEFINITION
from flake8_torchleak.recorder.join import SUGGESTED, Joined, Judged, Verdict
from flake8_torchleak.recorder.result import Kept, Record

LIMITS = "not seen by the recorder: native allocations, memory of other hosts, other threads' graphs"
"""What no run of ours can tell, in words."""


def text(record: Record, joined: Joined, ended: str) -> str:
    """The report for a person."""
    lines = [f"torchleak run: {wording.summary(record)}{f'; {ended}' if ended else ''}"]
    for verdict in Verdict:
        lines += _findings(record, [each for each in joined.judged if each.verdict is verdict], verdict)
    if joined.unexpected:
        lines += ["", "Seen at run time only"]
        for kept in joined.unexpected:
            lines += [*_kept(kept, record, "  "), *_rule(kept)]
    if not record.leaks:
        lines += ["", wording.verdict(record)]
    lines += ["", *wording.whole(record), *(f"note: {each}" for each in record.notes), DEFINITION, LIMITS]
    return "\n".join(lines) + "\n"


def _findings(record: Record, judged: list[Judged], verdict: Verdict) -> Iterator[str]:
    if judged:
        yield ""
        yield HEADINGS[verdict]
    for each in judged:
        yield f"  {wording.heading(each)}"
        for kept in each.kept:
            yield from _kept(kept, record, "    ")


HEADINGS = {
    Verdict.CONFIRMED: "Confirmed: found in the source, and seen in the run",
    Verdict.NOT_TOLD_APART: "Not told apart: the line ran, and what it may keep is told of another holder",
    Verdict.NOT_SEEN: "Not seen: the line ran and kept nothing",
    Verdict.NOT_JUDGED: "Not judged: the line ran, and the recorder does not look for what it keeps",
    Verdict.NOT_REACHED: "Not reached: the line did not run",
    Verdict.UNKNOWN: "Unknown: nothing was kept, and whether the line ran was not watched",
}


def _kept(kept: Kept, record: Record, indent: str) -> Iterator[str]:
    yield f"{indent}{wording.sentence(kept, record)}"
    for line in wording.details(kept):
        yield f"{indent}  {line}"


def _rule(kept: Kept) -> Iterator[str]:
    if kept.kind in SUGGESTED:
        yield f"    more: torchleak explain {SUGGESTED[kept.kind]}"


def as_json(record: Record, joined: Joined, ended: str) -> str:
    """The report for programs: one object. Sizes are bytes, lines 1-based."""
    found: dict[str, Any] = {
        "leaks": record.leaks,
        "enough": record.enough,
        "ended": ended,
        "steps": dict(record.steps),
        "epochs": record.epochs,
        "steps_per_epoch": record.steps_per_epoch,
        "seconds": round(record.seconds, 3),
        "findings": [
            {
                "path": each.path,
                "line": each.finding.span.line,
                "code": each.finding.code,
                "message": each.finding.message,
                "verdict": each.verdict.value,
                "kept": [_row(kept) for kept in each.kept],
            }
            for each in joined.judged
        ],
        "run_time_only": [_row(each) for each in joined.unexpected],
        "kept": [_row(each) for each in record.kept],
        "workers": [
            {"name": each.name, "private": [{"fetched": step, "bytes": count} for step, count in each.private]}
            for each in record.workers
        ],
        "heap": [{"step": step, "bytes": count} for step, count in record.heap],
        "notes": [*record.notes, LIMITS],
        "growth_is": DEFINITION,
    }
    return json.dumps(found, indent=2) + "\n"


def _row(kept: Kept) -> dict[str, Any]:
    return {**asdict(kept), "grows": kept.grows, "rule": SUGGESTED.get(kept.kind, "")}
