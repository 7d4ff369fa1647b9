"""`torchleak check`: reads each file, checks (or fixes) it, and prints what is left after selection and `# noqa`."""

from __future__ import annotations

import gc
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding, FixLevel
from flake8_torchleak.gate import by_words
from flake8_torchleak.lint import lint
from flake8_torchleak.shells import report
from flake8_torchleak.shells.selection import INTERNAL, Selection
from flake8_torchleak.shells.texts import Complain, File, parsing, texts
from flake8_torchleak.suppress import Suppressions


@dataclass(frozen=True, slots=True)
class Output:
    """How a run is shown. format: "text" or "json"; statistics: counts at the end; no_color: never colour."""

    format: str = "text"
    statistics: bool = False
    no_color: bool = False


class Treatment(Protocol):
    """What is done with each file: it is checked, or fixed as well (`shells/repair.py`).

    stdout_taken: something else is written to stdout (a diff, a fixed text), so the report goes to stderr.
    lists: findings are shown one by one.
    """

    stdout_taken: bool
    lists: bool

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        """The text as it is now and the findings that stay in it; None if it could not be checked: complained of."""

    def unread(self, raw: bytes) -> None:
        """What becomes of stdin that cannot be read as Python."""

    def summary(self) -> list[str]:
        """Lines that say what was done, or could be."""


class Checking:
    """`torchleak check` without `--fix`."""

    stdout_taken = False
    lists = True

    def __init__(self, config: Config, selection: Selection, complain: Complain) -> None:
        self._config, self._selection, self._complain = config, selection, complain
        self._fixable: Counter[FixLevel] = Counter()

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        found = parsing(file.path, self._complain, lambda: lint(file.text, self._config, path=file.path, fixes=True))
        if found is None:
            return None
        hides = Suppressions(file.text).hides
        shown = [f for f in found if self._selection.takes(f.code) and not hides(f.code, f.span.line)]
        if file.notebook and file.notebook.broken and by_words(file.notebook.words, self._config.dataset_bases):
            for error in file.notebook.broken:
                self._complain(f"{file.path}:{error}")
            # What cannot be read may need what a fix would change.
            shown = [replace(f, fixes=(), unfixed="a cell does not parse") if f.fixes else f for f in shown]
        self._fixable.update(each.fixable for each in shown if each.fixable is not None)
        return file.text, shown

    def unread(self, raw: bytes) -> None:
        pass

    def summary(self) -> list[str]:
        safe, unsafe = self._fixable[FixLevel.SAFE], self._fixable[FixLevel.UNSAFE]
        offers = [f"{safe} with --fix"] * bool(safe) + [f"{unsafe} with --fix --unsafe-fixes"] * bool(unsafe)
        return [f"Can be fixed: {', '.join(offers)}."] if offers else []


def run(paths: Iterable[str], stdin_filename: str, output: Output, treatment: Callable[[Complain], Treatment]) -> int:
    """Treat the files at `paths` ("-" is stdin), print the report, and return the exit status.

    0: no finding is left; 1: some are (or would be fixed); 2: errors. A file that cannot be read, parsed or written
    costs one line on stderr; the others are still treated.
    """
    complaints = 0

    def complain(text: str) -> None:
        nonlocal complaints
        complaints += 1
        sys.stdout.flush()
        _write(sys.stderr, f"torchleak: error: {report.printable(' '.join(text.splitlines()))}\n")

    treat = treatment(complain)
    stream = sys.stderr if treat.stdout_taken else sys.stdout
    colour = report.wants_colour(stream, output.no_color)
    rows: list[dict[str, object]] = []
    counts: Counter[tuple[str, str]] = Counter()
    checked = hit = 0
    with _undisturbed():
        for file in texts(paths, stdin_filename, complain, treat.unread):
            treated = treat(file)
            if treated is None:
                continue
            text, findings = treated
            checked += 1
            hit += bool(findings)
            counts.update((finding.code, finding.slug) for finding in findings)
            if findings:
                source = file.source(text)
                if output.format == "json":
                    rows += report.rows(file.path, findings, source.place)
                elif treat.lists:
                    _write(stream, report.text(file.path, findings, source.lines, colour, source.place))
    if output.format == "json":
        import json

        stream.write(json.dumps(rows, indent=2) + "\n")
    if output.format == "text":
        stream.write("".join(f"{line}\n" for line in treat.summary()))
    if output.statistics:
        # JSON on stdout stays JSON.
        (sys.stderr if output.format == "json" else stream).write(report.statistics(counts))
    if output.format == "text":
        stream.write(_summary(counts, hit, checked, complaints) + "\n")
    return 2 if complaints else 1 if counts else 0


def _summary(counts: Counter[tuple[str, str]], hit: int, checked: int, complaints: int) -> str:
    looked = f"{checked} file{'s' * (checked != 1)} checked"
    if complaints:
        looked += f", {complaints} could not be"
    total = sum(counts.values())
    if not total:
        return f"No findings, {looked}."
    explained = [code for code, _ in sorted(counts) if code != INTERNAL][:1]
    more = f" More on a finding: torchleak explain {explained[0]}" if explained else ""
    return f"{total} finding{'s' * (total != 1)} in {hit} file{'s' * (hit != 1)}, {looked}.{more}"


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the garbage collector's frequent passes over syntax trees, and without the parser's warnings.

    The trees are freed by reference counting; a pass now and then catches what is cyclic.
    """
    threshold = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


def _write(stream: object, text: str) -> None:
    """Write `text`, with escapes for what the stream's encoding (or a broken file name) does not allow."""
    try:
        stream.write(text)  # type: ignore[attr-defined]
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))  # type: ignore[attr-defined]
