"""`torchleak check`: reads each file, checks (or fixes) it, and prints what is left after selection and `# noqa`."""

from __future__ import annotations

import gc
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TextIO

from flake8_torchleak.finding import BOUND, Finding, Severity, gathered
from flake8_torchleak.model.reading import forget
from flake8_torchleak.shells import formats, process, report
from flake8_torchleak.shells.fold import columns, folded
from flake8_torchleak.shells.formats import Complaint
from flake8_torchleak.shells.progress import Progress
from flake8_torchleak.shells.sample import Sample
from flake8_torchleak.shells.selection import INTERNAL
from flake8_torchleak.shells.texts import Complain, File, Inputs, guarded, listed, texts
from flake8_torchleak.shells.treatment import Treatment
from flake8_torchleak.wording import printable


@dataclass(frozen=True, slots=True)
class Output:
    """How a run is shown. format: one of FORMATS; statistics: counts at the end; color: "auto", "always" or "never".

    file: where the report goes instead of stdout; show: how many findings are shown, if not all; quiet: findings and
    errors alone; fail_on: the least severity that fails the run, None for whatever is shown; exit_zero: findings fail
    no run.
    """

    format: str = "text"
    statistics: bool = False
    color: str = "auto"
    file: str | None = None
    show: int | None = None
    quiet: bool = False
    fail_on: Severity | None = None
    exit_zero: bool = False

    def fails(self, finding: Finding) -> bool:
        """Whether a finding makes the exit status 1. That a file is too large to be analysed in full is none in it."""
        if self.exit_zero or finding.code == BOUND:
            return False
        return self.fail_on is None or finding.severity.reaches(self.fail_on)


class Complaints:
    """Prints and keeps one line for each file that cannot be read, parsed or written."""

    def __init__(self) -> None:
        self.made: list[Complaint] = []
        self.progress = Progress(wanted=False)
        """What has to leave the terminal's line first."""

    def __call__(self, text: str, path: str = "", line: int = 0) -> None:
        self.made.append(Complaint(printable(" ".join(text.splitlines())), path, line))
        with suppress(OSError):  # stdout fails where it is written for its own sake
            sys.stdout.flush()
        self.progress.clear()
        process.complain(f"torchleak: error: {self.made[-1].text}\n")


def treated(
    inputs: Inputs, treat: Treatment, complain: Complaints, quiet: bool = False
) -> Iterator[tuple[File, str, list[Finding]]]:
    """Each file that could be checked, its text as it is now, and the findings that stay in it."""
    forget()  # what an earlier run of this process read may have changed
    whole = False
    try:
        paths = listed(inputs, complain)
        complain.progress = Progress(wanted=not treat.stdout_taken and not quiet, total=len(paths))
        with undisturbed():
            treat.begin(paths)
            for file in texts(paths, inputs.stdin_filename, complain, treat.unread, treat.is_clean):
                complain.progress.at(file.path)
                done = guarded(file.path, complain, partial(treat, file))
                if done is None:
                    continue
                for each in done[1]:
                    if each.code == INTERNAL:
                        complain(f"{file.path}: {each.message}", file.path)
                yield file, *done
        whole = True
    finally:
        treat.end(whole)
        complain.progress.clear()


def run(inputs: Inputs, output: Output, treatment: Callable[[Complain], Treatment]) -> int:
    """Treat the files, print the report, and return the exit status.

    0: no finding is left; 1: some are (or would be fixed); 2: errors. A file that cannot be read, parsed or written
    costs one line on stderr; the others are still treated.
    """
    complain = Complaints()
    treat = treatment(complain)
    stream = sys.stderr if treat.stdout_taken else sys.stdout
    counts: Counter[tuple[str, str]] = Counter()
    checked = hit = beside = 0
    fails = False
    gone: OSError | None = None
    in_file = output.file is not None
    with _sink(output.file, stream) as sink:
        # A file is coloured only by those who say so: FORCE_COLOR is about what one sees.
        colour = report.wants_colour(sink, "never" if in_file and output.color == "auto" else output.color)
        links = colour and report.wants_links(sink)
        shown = formats.begin(output.format, colour, columns(sink), links)
        if output.show is not None:
            shown = Sample(shown, output.show)
        for file, text, findings in treated(inputs, treat, complain, output.quiet):
            checked += 1
            # What is ours to mend has been complained of.
            findings = [each for each in findings if each.code != INTERNAL]
            if not findings:
                continue
            hit += 1
            if output.format in formats.WITH_CONVENTIONS and not treat.rests:
                findings = guarded(file.path, complain, partial(_resting, findings, text, treat, file)) or findings
            told = gathered(findings)
            beside += len(findings) - len(told)
            counts.update((finding.code, finding.slug) for finding in told)
            fails = fails or any(map(output.fails, told))
            if gone is None and (treat.lists or in_file):
                complain.progress.clear()
                words = guarded(file.path, complain, partial(_shown, shown, file, text, told))
                try:
                    _write(sink, words or "")
                    sink.flush()
                except OSError as error:
                    # Who reads the report has seen enough; what is to be fixed is fixed all the same.
                    gone = error
                    if not treat.changes:
                        raise
        if gone is not None:
            raise gone
        _write(sink, shown.end(complain.made))
    counted = report.statistics(counts) if output.statistics else ""
    if not output.quiet and (in_file or output.format in formats.FOR_PEOPLE):
        last = [_summary(counts, beside, hit, checked, len(complain.made))] * treat.tells
        said = [*treat.summary(), *counted.splitlines(), *last]
        counted = "".join(folded(line, columns(stream)) + "\n" for line in said)
    # Unless a person reads it, nothing but the report goes where the report does.
    if in_file or output.format == "text":
        stream.write(counted)
    else:
        process.complain(counted)
    return 2 if complain.made else 1 if fails else 0


def _resting(findings: list[Finding], text: str, treat: Treatment, file: File) -> list[Finding]:
    from flake8_torchleak.conventions import resting  # with all rules: the most there is to import

    return resting(findings, text, treat.config, file.path)


def _shown(shown: formats.Report, file: File, text: str, findings: list[Finding]) -> str:
    return shown.file(file.path, findings, file.source(text))


def _summary(counts: Counter[tuple[str, str]], beside: int, hit: int, checked: int, complaints: int) -> str:
    """The last line. beside: how many findings are told with another one of the same cause."""
    if complaints and not checked:
        return "Nothing was checked."
    looked = f"{checked} file{'s' * (checked != 1)} checked"
    if complaints:
        looked += f", {complaints} could not be"
    total = sum(counts.values())
    if not total:
        return f"No findings, {looked}."
    explained = [code for code, _ in sorted(counts) if code not in (INTERNAL, BOUND)][:1]
    more = f" More on a finding: torchleak explain {explained[0]}" if explained else ""
    same = f" and {beside} of the same cause{'s' * (total != 1)}" if beside else ""
    return f"{total} finding{'s' * (total != 1)}{same} in {hit} file{'s' * (hit != 1)}, {looked}.{more}"


def _sink(path: str | None, stream: TextIO) -> AbstractContextManager[TextIO]:
    """Where the report goes. Raises ConfigError, one line, if it cannot go there."""
    if path is None:
        return nullcontext(stream)
    from flake8_torchleak.shells.outfile import replacing

    return replacing(path)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Without the garbage collector's frequent passes over syntax trees, and without the parser's warnings.

    The trees are freed by reference counting; a pass now and then catches what is cyclic.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.set_threshold(*threshold)


def _write(stream: TextIO, text: str) -> None:
    """Write `text`, with escapes for what the stream's encoding (or a broken file name) does not allow."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode(stream.encoding, "backslashreplace").decode(stream.encoding))
