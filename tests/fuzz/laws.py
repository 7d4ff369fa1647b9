"""Laws of `lint` and `fix` that hold for every text that parses."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb

import flake8_torchleak.lint
from flake8_torchleak.config import DEFAULT, Config
from flake8_torchleak.finding import BOUND, Finding, Span
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.gate import _OTHER_FRAMEWORKS, by_words
from flake8_torchleak.lint import lint
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import all_rules
from flake8_torchleak.source import Source, parse

flake8_torchleak.lint.reraise = True

CONFIGS = (DEFAULT, Config(assume_workers="yes", min_literal=2, dataset_bases=("Base", "lib.Rows")))


class Broken(AssertionError):
    """A law that does not hold, and what speaks against it."""

    def __init__(self, law: str, against: object) -> None:
        super().__init__(f"{law}: {against}")
        self.law = law


@dataclass
class Tally:
    """What was done: programs that were checked, findings in them, fixes that were applied."""

    programs: int = 0
    findings: int = 0
    fixes: int = 0

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        self.programs += other.programs
        self.findings += other.findings
        self.fixes += other.fixes


def check(text: str, config: Config = DEFAULT) -> Tally:
    """Check every law on one program. Raises Broken, or whatever exception was not caught."""
    tree = parse(text)
    found = lint(text, config, fixes=True)
    _places(text, found)
    _law("findings are sorted", found == sorted(found, key=Finding.sort_key), found)
    _law("findings are unique", len(found) == len(set(found)), found)
    _law("a tree that is handed in changes nothing", lint(text, config, tree, fixes=True) == found, found)
    plain = [replace(each, fixes=(), unfixed="") for each in found]
    _law("asking for fixes changes no finding", set(lint(text, config)) == set(plain), found)
    _gate(tree, config)
    fixes = sum(_fixing(text, config, unsafe) for unsafe in (False, True)) if any(each.fixes for each in found) else 0
    return Tally(1, len(found), fixes)


def _law(law: str, holds: bool, against: object) -> None:
    if not holds:
        raise Broken(law, against)


def _spans(finding: Finding) -> Iterator[Span]:
    yield finding.span
    yield from (each.span for each in finding.notes)
    yield from (edit.span for each in finding.fixes for edit in each.edits)


def _places(text: str, found: list[Finding]) -> None:
    """Every span lies in the text, and every message is one line."""
    lines = [line.rstrip("\r\n") for line in Source(text).lines]
    for each in found:
        for span in _spans(each):
            first, last = (span.line, span.col), (span.end_line, span.end_col)
            inside = min(span.line, span.col + 1) >= 1 and first <= last <= (len(lines), len(lines[-1]))
            # What is inserted as a line of its own may stand below the last one.
            below = first == last == (len(lines) + 1, 0)
            ends = inside and span.col <= len(lines[span.line - 1]) and span.end_col <= len(lines[span.end_line - 1])
            _law("spans lie in the text", ends or below, (each, span))
        said = (each.message, each.remedy, each.unfixed, *(note.text for note in each.notes))
        _law("what is said is one line", all("\n" not in text and "\r" not in text for text in said), said)


def _gate(tree: ast.Module, config: Config) -> None:
    """Rules that are asked about every module find no more than those that the gate lets through.

    The text is laid out by Python: the gate looks for words as they are usually written.
    """
    text = ast.unparse(tree)
    if not by_words(text, config.dataset_bases) or any(name in text for name in _OTHER_FRAMEWORKS):
        return  # no module about PyTorch: left out on purpose, whatever the rules would find
    module = Module(Source(text), parse(text), config)
    asked = {each.finding(report, module) for each in all_rules() for report in each.check(module)}
    found = {each for each in lint(text, config) if each.code != BOUND}  # which no rule says
    for each in sorted(asked ^ found, key=Finding.sort_key):
        raise Broken(f"the gate loses no {each.code}", each)


def _fixing(text: str, config: Config, unsafe: bool) -> int:
    """The number of fixes that were applied."""
    done = fix(text, config, unsafe, _every)
    after = done.text
    try:
        parse(after)
    except (SyntaxError, ValueError) as error:
        raise Broken("a fixed text parses", (error, after)) from error
    again = fix(after, config, unsafe, _every)
    _law("fixing twice changes nothing more", (again.text, again.fixed) == (after, ()), (after, again.text))
    _law("without a fix the text stays", bool(done.fixed) or after == text, after)
    _law("what is left is what is found", _codes(done.left) == _codes(again.left), (done.left, again.left))
    _law("what was fixed is gone", len(done.left) + len(done.fixed) <= done.found, (done.fixed, done.left, after))
    _law("nothing new is there", _codes(lint(after, config)) <= _codes(lint(text, config)), (done.left, after))
    return len(done.fixed)


def _every(code: str) -> bool:
    return True


def _codes(findings: list[Finding] | tuple[Finding, ...]) -> Counter[str]:
    return Counter(each.code for each in findings)


def failure(text: str, config: Config = DEFAULT) -> str:
    """Which law a program breaks, or which exception it raises where; empty if none. One name is one defect."""
    try:
        check(text, config)
    except Broken as broken:
        return broken.law
    except Exception as error:
        package = str(Path(flake8_torchleak.lint.__file__).parent)
        frames = [each for each in extract_tb(error.__traceback__) if each.filename.startswith(package)]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "elsewhere"
        return f"{type(error).__name__} in {where}"
    return ""
