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
from flake8_torchleak.shells.process import Unwritable, is_read
from flake8_torchleak.shells.texts import Complain, File
from flake8_torchleak.source import SourceError
from flake8_torchleak.wording import leading, printable


class Placing:
    """Puts new texts in the place of old ones (of stdin: to stdout), or, for `--diff`, shows what would change.

    A diff that goes to a file or another program has the very bytes, so that it can be applied. One that a person
    reads, on a terminal or in a log, is shown with escapes where the texts hold what would steer either.
    """

    def __init__(self, complain: Complain, diff: bool) -> None:
        self._complain, self._diff = complain, diff
        self._read = diff and is_read(sys.stdout)
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
                _to_stdout(b"".join(map(_shown, _diff(file, new)) if self._read else _diff(file, new)))
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
    path = named(file.path).lstrip("/")
    old, fresh = (_quoted(os.fsencode(f"{side}/{path}")) for side in "ab")
    before, after = (io.BytesIO(raw).readlines() for raw in (file.raw, new))
    for line in difflib.diff_bytes(difflib.unified_diff, before, after, old, fresh):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(name: bytes) -> bytes:
    """A name as git writes it in a diff: one with a newline could else name another file, with hunks of its own."""
    if printable(os.fsdecode(name)) != os.fsdecode(name) or any(char in name for char in b'\t"\\'):
        plain = (chr(char) if 0x20 <= char < 0x7F and char not in b'"\\' else f"\\{char:03o}" for char in name)
        return f'"{"".join(plain)}"'.encode()
    return name + b"\t" * (b" " in name)  # where a name with blanks ends, for patch


def _shown(lines: bytes) -> bytes:
    """Lines of a diff for people; they are UTF-8, or their bytes are shown one by one.

    A CR before the newline steers nothing and stays, so that the diff of a file with CRLF can be applied from a pipe
    in a continuous integration, too.
    """
    shown = []
    for line in lines.removesuffix(b"\n").split(b"\n"):
        text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
        shown.append(leading(text).encode("utf-8", "backslashreplace") + b"\r" * line.endswith(b"\r"))
    return b"\n".join(shown) + b"\n"


def _to_stdout(raw: bytes) -> None:
    """Bytes to stdout, behind what was printed before. Raises Unwritable, or BrokenPipeError where nobody reads on."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(f"cannot write: {error.strerror or error}") from error
