"""What is known of the texts that are shown, and what a check of one gives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from flake8_torchleak.finding import Finding
from flake8_torchleak.model.reading import Question
from flake8_torchleak.server.diagnostics import ByUri
from flake8_torchleak.server.documents import View


@dataclass
class Known:
    """What was found at last in one text. text: the last one that could be checked; also: where something is shown.

    took: the seconds of that check.
    """

    text: str = ""
    findings: list[Finding] = field(default_factory=list)
    asked: tuple[Question, ...] = ()
    shown: set[str] = field(default_factory=set)
    took: float = 0


class Found(NamedTuple):
    """What a check of a text gave. findings: None where it does not parse; shown: what is to be shown then."""

    at: View
    findings: list[Finding] | None
    asked: tuple[Question, ...]
    shown: ByUri


def give(future: asyncio.Future[Found], found: Found) -> None:
    """Tell who waits, if anybody does; the first time only."""
    if not future.done():
        future.set_result(found)
