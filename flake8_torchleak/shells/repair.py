"""`torchleak check --fix` and `--diff`: what is done with one file, and what is said of it all in the end."""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from flake8_torchleak.config import Config
from flake8_torchleak.finding import Finding
from flake8_torchleak.fixing.fix import Fixed, chosen, fix
from flake8_torchleak.fixing.write import WriteError
from flake8_torchleak.fixing.write import replace as replace_file
from flake8_torchleak.shells.run import Checking
from flake8_torchleak.shells.selection import Selection
from flake8_torchleak.shells.texts import Complain, File, parsing
from flake8_torchleak.source import SourceError


class Repairing:
    """Fixes files in place (stdin to stdout), or, for `--diff`, shows what would change and writes nothing."""

    def __init__(
        self, config: Config, selection: Selection, complain: Complain, *, unsafe: bool, diff: bool, to_stdout: bool
    ) -> None:
        self._config, self._selection, self._complain = config, selection, complain
        self._unsafe, self._diff = unsafe, diff
        self._check = Checking(config, selection, complain)
        self.stdout_taken = diff or to_stdout
        self.lists = not diff
        self._fixed = self._files = self._suppressed = self._waiting = 0

    def __call__(self, file: File) -> tuple[str, list[Finding]] | None:
        self._piped = file.raw
        try:
            return self._treated(file)
        finally:
            if file.place == "-":
                self.unread(self._piped)

    def unread(self, raw: bytes) -> None:
        if not self._diff:
            _to_stdout(raw)  # whoever reads our output in the place of the file loses nothing

    def _treated(self, file: File) -> tuple[str, list[Finding]] | None:
        if file.notebook and file.notebook.broken:
            return self._check(file)
        takes = self._selection.takes
        done = parsing(file.path, self._complain, lambda: fix(file.text, self._config, self._unsafe, takes, file.path))
        if done is None:
            return None
        if not self._keep(file, done):
            return self._check(file)
        left = [self._explained(each) for each in done.left]
        self._fixed += done.found - len(left)
        self._files += done.text != file.text
        self._suppressed += done.suppressed
        self._waiting += sum(each.fixable is not None for each in left if not self._unsafe)
        if self._diff:  # nothing is fixed yet
            return file.text, [each for each, _ in done.fixed] + left
        return done.text, left

    def summary(self) -> list[str]:
        would = "Would fix" if self._diff else "Fixed"
        lines = [
            f"{would} {self._fixed} finding{'s' * (self._fixed != 1)} in {self._files} file{'s' * (self._files != 1)}."
        ]
        if self._suppressed:
            lines.append(f"Left alone, for the line carries `# noqa`: {self._suppressed} that could be fixed.")
        if self._waiting:
            lines.append(f"Can be fixed with --unsafe-fixes: {self._waiting}.")
        return lines

    def _keep(self, file: File, done: Fixed) -> bool:
        """Put the new text where it belongs; False if that failed, which is complained of."""
        try:
            new = file.encoded(done.text)
            if done.text != file.text and file.encoded(file.text) != file.raw:
                raise WriteError("has characters that its encoding writes in several ways; left alone")
            if self._diff:
                _to_stdout(b"".join(_diff(file, new)))
            elif file.place == "-":
                self._piped = new
            elif new != file.raw:
                replace_file(file.place, file.raw, new)
        except (WriteError, UnicodeEncodeError, SourceError) as error:
            self._complain(f"{file.path}: {error}")
            return False
        return True

    def _explained(self, finding: Finding) -> Finding:
        """The finding with the reason why it is left, if it is of a kind that can be fixed."""
        if finding.fixes and chosen(finding, self._unsafe) is None:
            return replace(finding, unfixed="it needs --unsafe-fixes")
        return finding


def _diff(file: File, new: bytes) -> Iterator[bytes]:
    """A unified diff that `patch` and `git apply` take: the file's own bytes, a missing newline at its end included."""
    path = os.fsencode(file.path.replace(os.sep, "/").lstrip("/"))
    end = b"\t" if b" " in path else b""  # where a name with blanks ends, for patch
    before, after = (io.BytesIO(raw).readlines() for raw in (file.raw, new))
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, b"a/" + path + end, b"b/" + path + end):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _to_stdout(raw: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()
