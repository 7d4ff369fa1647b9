"""What `torchleak check --output-format` offers: each format is a module of this folder, imported when asked for."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flake8_torchleak.wording import printable

if TYPE_CHECKING:
    from flake8_torchleak.finding import Finding
    from flake8_torchleak.source import Source

FORMATS = (
    "text", "concise", "json", "json-lines", "github", "gitlab", "azure", "junit", "sarif", "rdjsonl", "lintrunner"
)  # fmt: skip
"""The formats by name; the module of "json-lines" is `json_lines`."""
FOR_PEOPLE = ("text", "concise")
"""Those that are read by people: a summary goes with them. The others leave stdout to the program that reads it."""
WITH_CONVENTIONS = ("json", "json-lines")
"""Those that say of each finding which conventions of names it rests on: asking costs more lints of the file."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why something was not checked or written, one line; path and 1-based line: of what, where that is known."""

    text: str
    path: str = ""
    line: int = 0


class Report:
    """A report in the making. Each format's module has a class of this name that fills it in.

    colour: whether it may hold a terminal's escapes, which only people's formats do; width: the terminal's columns,
    0 where it goes elsewhere; links: whether the terminal shows hyperlinks.
    """

    width = 0
    links = False

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def file(self, path: str, findings: Sequence[Finding], source: Source) -> str:
        """What is written as soon as a file is done: `findings` (at least one) in order of place, in `source`."""
        raise NotImplementedError

    def end(self, complaints: Sequence[Complaint]) -> str:
        """What is written when all files are done."""
        return ""


def as_json(value: object, indent: int | None = 2) -> str:
    """A value as JSON, ended by a newline: nothing in it commands a log or steers a terminal, and it reads the same."""
    import json

    return "".join(f"{printable(line)}\n" for line in json.dumps(value, indent=indent).split("\n"))


def begin(name: str, colour: bool, width: int = 0, links: bool = False) -> Report:
    """An empty report in the format `name`, one of FORMATS."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    made: Report = module.Report(colour)
    made.width, made.links = width, links
    return made
