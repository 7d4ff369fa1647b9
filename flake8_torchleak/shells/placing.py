"""Where a new text goes: into its file, to stdout, or into a diff."""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from flake8_torchleak.fixing.write import WriteError, replace
from flake8_torchleak.model.importers import forget
from flake8_torchleak.shells.paths import named
from flake8_torchleak.shells.texts import Complain, File
from flake8_torchleak.source import SourceError


class Placing:
    """Puts new texts in the place of old ones (of stdin: to stdout), or, for `--diff`, shows what would change."""

    def __init__(self, complain: Complain, diff: bool) -> None:
        self._complain, self._diff = complain, diff
        self._piped = b""

    @contextmanager
    def piping(self, file: File) -> Iterator[None]:
        """Whatever becomes of a file from stdin, its text goes to stdout: who reads it in its place loses nothing."""
        self._piped = file.raw
        try:
            yield
        finally:
            if file.place == "-":
                self.unread(self._piped)

    def unread(self, raw: bytes) -> None:
        """Stdin that is to be changed, as it came."""
        if not self._diff:
            _to_stdout(raw)

    def put(self, file: File, text: str) -> bool:
        """Put the new text where it belongs; False if that failed, which is complained of."""
        try:
            new = file.encoded(text)
            if text != file.text and file.encoded(file.text) != file.raw:
                raise WriteError("has characters that its encoding writes in several ways; left alone")
            if self._diff:
                _to_stdout(b"".join(_diff(file, new)))
            elif file.place == "-":
                self._piped = new
            elif new != file.raw:
                replace(file.place, file.raw, new)
                forget()  # other files are told of its new lines
        except (WriteError, UnicodeEncodeError, SourceError) as error:
            self._complain(f"{file.path}: {error}", file.path)
            return False
        return True


def _diff(file: File, new: bytes) -> Iterator[bytes]:
    """A unified diff that `patch` and `git apply` take: the file's own bytes, a missing newline at its end included."""
    path = os.fsencode(named(file.path).lstrip("/"))
    end = b"\t" if b" " in path else b""  # where a name with blanks ends, for patch
    before, after = (io.BytesIO(raw).readlines() for raw in (file.raw, new))
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, b"a/" + path + end, b"b/" + path + end):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _to_stdout(raw: bytes) -> None:
    """Bytes to stdout, behind what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()
