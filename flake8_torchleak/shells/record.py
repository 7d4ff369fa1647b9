"""`torchleak run`: runs a program under the recorder, lints what ran, and reports both side by side."""

from __future__ import annotations

import argparse
import os
import sys
import tokenize
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout

from flake8_torchleak.config import ConfigError
from flake8_torchleak.finding import Finding
from flake8_torchleak.lint import lint
from flake8_torchleak.recorder.growth import ENOUGH
from flake8_torchleak.recorder.join import join
from flake8_torchleak.recorder.lines import Lines
from flake8_torchleak.recorder.live import Live
from flake8_torchleak.recorder.program import NoProgram, Program, own_files
from flake8_torchleak.recorder.program import run as run_program
from flake8_torchleak.recorder.recording import Options, Recording
from flake8_torchleak.recorder.text_report import as_json, text
from flake8_torchleak.shells.outfile import replacing, writable
from flake8_torchleak.shells.policy import Policy
from flake8_torchleak.shells.process import Terminated
from flake8_torchleak.shells.settings import Setting

STEPS, EPOCHS = 200, 2
"""When a run ends unless it is told otherwise: whichever comes first."""


def run(arguments: argparse.Namespace, settings: Mapping[str, Setting]) -> int:
    """The exit status: 1 if growth was confirmed, else 2 if the program failed or had too few steps, else 0.

    Raises ConfigError, before the program runs if that can be, and with the report on stdout if not.
    """
    if not arguments.program:
        raise ConfigError("run: name the script to run, or -m and a module")
    if arguments.steps is not None and arguments.steps < ENOUGH:
        raise ConfigError(f"run: --steps {arguments.steps}: growth is judged over at least {ENOUGH} steps")
    # The program may go to another folder.
    output, html = (os.path.abspath(each) if each else "" for each in (arguments.output_file, arguments.html))
    for path, option in ((output, "--output-file"), (html, "--html")):
        if path:
            writable(path, option)
    before = set(sys.modules)
    program = Program(arguments.program[0], tuple(arguments.program[1:]), arguments.module)
    linted = _Linted(Policy(settings))
    try:
        path = program.find()
    except NoProgram as error:
        raise ConfigError(f"run: {error}") from None
    lines = Lines(linted.lines)
    steps, epochs = (0, 0) if arguments.until_exit else (arguments.steps or STEPS, 0 if arguments.steps else EPOCHS)

    def on_step(count: int) -> None:
        live.step(count)
        if count >= 3:
            lines.settle()

    recording = Recording(Options(arguments.light, steps, epochs, ends=True, on_step=on_step))
    with _stdout_apart(arguments.output_format == "json" and not arguments.output_file), Live(steps) as live:
        lines.start()
        ended = run_program(program, recording, (KeyboardInterrupt, Terminated))
        lines.stop()
    record = recording.record
    found = {each: linted.findings(each) for each in sorted({path, *own_files(before), *linted.seen})}
    joined = join(record, found, lines.hit if lines.watching else None, linted.source, linted.tells)
    shown = (as_json if arguments.output_format == "json" else text)(record, joined, ended)
    if html:
        from flake8_torchleak.recorder.page import page

        with _or_shown(shown), replacing(html, "--html") as sink:
            sink.write(page(record, joined, program.name, ended))
    if output:
        with _or_shown(shown), replacing(output) as sink:
            sink.write(shown)
    else:
        sys.stdout.write(shown)
    return 1 if record.leaks else 2 if ended or not record.enough else 0


@contextmanager
def _or_shown(shown: str) -> Iterator[None]:
    """Print the report where a file cannot be written at last: the run may have taken hours."""
    try:
        yield
    except ConfigError:
        sys.stdout.write(shown)
        raise


class _Linted:
    """What the linter finds in files, and their lines; each is read once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._found: dict[str, list[Finding]] = {}
        self._text: dict[str, list[str]] = {}

    @property
    def seen(self) -> list[str]:
        """The paths that were asked for and could be read."""
        return [path for path in self._found if self._text[path]]

    def findings(self, path: str) -> list[Finding]:
        if path not in self._found:
            source = _read(path)
            self._text[path] = source.splitlines()
            found = lint(source, self._policy.config, path=path, wanted=self._policy.takes(path)) if source else []
            self._found[path] = self._policy.taken(path, source, found)
        return self._found[path]

    def tells(self, finding: Finding) -> bool:
        """Whether a finding is told whatever the run says of it."""
        return self._policy.tells(finding)

    def lines(self, path: str) -> set[int]:
        """All lines that findings stand on."""
        spans = [each.span for each in self.findings(path)]
        return {line for span in spans for line in range(span.line, span.end_line + 1)}

    def source(self, path: str) -> list[str]:
        self.findings(path)
        return self._text[path]


def _read(path: str) -> str:
    """The text of a file of Python; empty for what has none (`<string>`) or is none."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


@contextmanager
def _stdout_apart(wanted: bool) -> Iterator[None]:
    """While the program runs, send what it prints to stderr: stdout is for the report alone."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    own = os.dup(1)
    try:
        # Both what Python prints and what workers and libraries write.
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
        sys.stderr.flush()
    finally:
        os.dup2(own, 1)
        os.close(own)
