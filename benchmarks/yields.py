"""What each part of the analysis costs, and what it tells: CPU on one corpus, findings in another.

usage: python benchmarks/yields.py CORPUS TREES

CORPUS: a few thousand files of libraries, where hardly anything is found. TREES: a folder of repositories. Both are
checked as flake8 does by default: without rules that are off, and without notes. CPU is of the part alone: what it
asks another part for counts there; what is asked for once counts for whoever asks first. A part that takes much of the
time, and tells nothing in hundreds of repositories, is one to ask later, or less. Nothing is asserted: the numbers are
printed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from flake8_torchleak import lint as linting
from flake8_torchleak.config import DEFAULT
from flake8_torchleak.finding import Severity
from flake8_torchleak.lifetime import follow
from flake8_torchleak.model.index import Index
from flake8_torchleak.model.tree import Tree
from flake8_torchleak.rule import Rule

GATES, FOLLOWING, INDEX = "gates, and what no part below is", "following the calls", "indexing nodes"


class Clock:
    """CPU time of nested parts, each without those inside it."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.files: defaultdict[str, set[str]] = defaultdict(set)
        self.file = ""
        self._parts: list[str] = []
        self._since = 0.0

    def _turn(self) -> None:
        now = time.thread_time()
        if self._parts:
            self.spent[self._parts[-1]] += now - self._since
        self._since = now

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is done now is done by a part."""
        self._turn()
        self._parts.append(name)
        self.files[name].add(self.file)
        try:
            yield
        finally:
            self._turn()
            self._parts.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is a part; one that gives things one by one is gone through at once."""

        def call(*arguments: Any, **named: Any) -> Any:
            with self.part(name):
                found = function(*arguments, **named)
                return list(found) if isinstance(found, Iterator) else found

        return call


def main() -> None:
    """Print a Markdown table: part, files of the corpus that come to it, share of our CPU there, findings told."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("trees", type=Path)
    arguments = parser.parse_args()
    told = Counter(code for path in _files(arguments.trees) for code in _check(path, Clock()))
    clock = Clock()
    _instrument(clock)
    found = Counter(code for path in _files(arguments.corpus) for code in _check(path, clock))
    whole = sum(clock.spent.values())
    print(f"{whole:.1f} s on the corpus, {sum(found.values())} findings there, {sum(told.values())} in the trees\n")
    print("| part | files | % of the time | told in the trees |\n| --- | --- | --- | --- |")
    for name in sorted(clock.spent, key=lambda each: -clock.spent[each]):
        tells = str(told[name]) if name.startswith("TLK") else ""
        print(f"| {name} | {len(clock.files[name])} | {100 * clock.spent[name] / whole:.1f} | {tells} |")


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*.py") if each.is_file())


def _check(path: Path, clock: Clock) -> list[str]:
    """The codes of what is told of a file, as flake8 has it: its tree is there already."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return []
    clock.file = str(path)
    gc.disable()
    try:
        with clock.part(GATES):
            found = linting.lint(text, DEFAULT, tree, clock.file, wanted=_is_default, least=Severity.WARNING)
    finally:
        gc.enable()
    return [each.code for each in found if each.severity is not Severity.NOTE]


def _is_default(code: str) -> bool:
    return not code.startswith("TLK9")


def _instrument(clock: Clock) -> None:
    """Rules, following and the index tell the clock when they work."""
    asked: Callable[..., list[Rule]] = linting._asked
    timed: dict[str, Rule] = {}

    def rules(wanted: Callable[[str], bool] | None) -> list[Rule]:
        return [
            timed.get(each.code) or timed.setdefault(each.code, replace(each, check=clock.timed(each.code, each.check)))
            for each in asked(wanted)
        ]

    linting._asked = rules
    follow._follow = clock.timed(FOLLOWING, follow._follow)
    for made in (Tree, Index):
        made.__init__ = clock.timed(INDEX, made.__init__)  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
