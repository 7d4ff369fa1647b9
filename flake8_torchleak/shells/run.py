"""`torchleak check`: reads each file, lints it, and prints what is left after selection and `# noqa`."""

from __future__ import annotations

import gc
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.shells import files, report
from flake8_torchleak.shells.selection import INTERNAL, Selection
from flake8_torchleak.source import Source, SourceError, decode
from flake8_torchleak.suppress import Suppressions


@dataclass(frozen=True, slots=True)
class Output:
    """How a run is shown. format: "text" or "json"; statistics: counts at the end; no_color: never colour."""

    format: str = "text"
    statistics: bool = False
    no_color: bool = False


def run(paths: Iterable[str], stdin_filename: str, config: Config, selection: Selection, output: Output) -> int:
    """Check `paths` ("-" is stdin), print the report, and return the exit status: 0 clean, 1 findings, 2 errors.

    A file that cannot be read or parsed costs one line on stderr; the others are still checked.
    """
    complaints = 0

    def complain(text: str) -> None:
        nonlocal complaints
        complaints += 1
        sys.stdout.flush()
        _write(sys.stderr, f"torchleak: error: {report.printable(' '.join(text.splitlines()))}\n")

    colour = report.wants_colour(sys.stdout, output.no_color)
    rows: list[dict[str, object]] = []
    counts: Counter[tuple[str, str]] = Counter()
    checked = hit = 0
    with _undisturbed():
        for path, text in _texts(paths, stdin_filename, complain):
            findings = _findings(path, text, config, selection, complain)
            if findings is None:
                continue
            checked += 1
            hit += bool(findings)
            counts.update((finding.code, finding.slug) for finding in findings)
            if output.format == "json":
                rows += report.rows(path, findings)
            elif findings:
                _write(sys.stdout, report.text(path, findings, Source(text).lines, colour))
    if output.format == "json":
        import json

        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    if output.statistics:
        # JSON on stdout stays JSON.
        (sys.stderr if output.format == "json" else sys.stdout).write(report.statistics(counts))
    if output.format == "text":
        sys.stdout.write(_summary(counts, hit, checked, complaints))
    return 2 if complaints else 1 if counts else 0


def _texts(paths: Iterable[str], stdin_filename: str, complain: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """(the path to show, the text) of each file that can be read; the others are complained of."""
    for path in files.python_files(paths, complain):
        try:
            if path == "-":
                yield stdin_filename, decode(sys.stdin.buffer.read())
            else:
                with open(path, "rb") as file:
                    raw = file.read()
                yield path, decode(raw)
        except OSError as error:
            complain(f"{path}: {error.strerror or error}")
        except SourceError as error:
            complain(f"{path}: {error}")


def _findings(
    path: str, text: str, config: Config, selection: Selection, complain: Callable[[str], None]
) -> list[Finding] | None:
    """What the report shows of one file; None for one that does not parse, which is complained of."""
    try:
        found = lint(text, config, path=path)
    except SyntaxError as error:
        place = f"{path}:{error.lineno}:{error.offset or 1}" if error.lineno else path
        complain(f"{place}: syntax error: {error.msg}")
        return None
    except ValueError as error:
        complain(f"{path}: {error}")
        return None
    suppressions = Suppressions(text)
    return [each for each in found if selection.takes(each.code) and not suppressions.hides(each.code, each.span.line)]


def _summary(counts: Counter[tuple[str, str]], hit: int, checked: int, complaints: int) -> str:
    looked = f"{checked} file{'s' * (checked != 1)} checked"
    if complaints:
        looked += f", {complaints} could not be"
    total = sum(counts.values())
    if not total:
        return f"No findings, {looked}.\n"
    explained = [code for code, _ in sorted(counts) if code != INTERNAL][:1]
    more = f" More on a finding: torchleak explain {explained[0]}" if explained else ""
    return f"{total} finding{'s' * (total != 1)} in {hit} file{'s' * (hit != 1)}, {looked}.{more}\n"


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
