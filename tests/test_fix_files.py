"""`torchleak check --fix` on stdin, on files that cannot be written, interrupted, and without libcst."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flake8_torchleak.fixing import write
from flake8_torchleak.fixing.fix import fix
from flake8_torchleak.shells.cli import main
from tests.conftest import LEAK, python, torchleak

Capture = pytest.CaptureFixture[str]

FIXED = LEAK.replace("+= loss", "+= loss.detach()")
UNPROVEN = LEAK.replace("+= loss", "+= criterion(model(x), y)")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")


Piped = Callable[..., tuple[int, bytes, bytes]]


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Piped:
    """Run `check` with these arguments and bytes on stdin: its status, stdout and stderr."""

    def run(*arguments: str, stdin: bytes) -> tuple[int, bytes, bytes]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return main(["check", *arguments, "-"]), *capsysbinary.readouterr()

    return run


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf" + LEAK.replace("\n", "\r\n").encode(), b"x = 1"])
def test_stdin_is_fixed_to_stdout(raw: bytes, piped: Piped) -> None:
    status, out, err = piped("--fix", stdin=raw)
    assert (status, out) == (0, raw.replace(b"+= loss", b"+= loss.detach()"))
    assert err.endswith(b"No findings, 1 file checked.\n")


def test_what_is_left_in_stdin_is_told_on_stderr(piped: Piped) -> None:
    raw = UNPROVEN.encode()
    status, out, err = piped("--fix", "--stdin-filename=a/b.py", stdin=raw)
    assert (status, out) == (1, raw)
    assert err.startswith(b"a/b.py:9:")
    status, out, err = piped("--fix", "--output-format=json", stdin=raw)
    assert (status, out) == (1, raw)
    assert len(json.loads(err)) == 1


def test_diff_of_stdin(piped: Piped) -> None:
    assert piped("--diff", "--stdin-filename=/a/b.py", stdin=LEAK.encode())[1].startswith(
        b"--- a/a/b.py\n+++ b/a/b.py\n@@"
    )


def test_stdin_that_does_not_parse_comes_out_as_it_was(piped: Piped) -> None:
    raw = LEAK.encode() + b"x = (\r"
    status, out, err = piped("--fix", stdin=raw)
    assert (status, out) == (2, raw)
    assert err.startswith(b"torchleak: error: stdin:")
    assert piped("--diff", stdin=raw)[1] == b""


def one_error(capsys: Capture) -> str:
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert ":9:" in shown.out, "what stays is reported"
    assert "Fixed 0 findings in 0 files.\n" in shown.out
    return shown.err


def test_a_read_only_file(leak: Path, capsys: Capture) -> None:
    (leak / "leak.py").chmod(0o444)
    (leak / "more.py").write_text(LEAK)
    assert main(["check", "--fix"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "torchleak: error: leak.py: is read-only; left alone\n"
    assert "Fixed 1 finding in 1 file.\n" in shown.out
    assert ((leak / "leak.py").read_text(), (leak / "more.py").read_text()) == (LEAK, FIXED)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda path: path.unlink(), "vanished while it was being fixed"),
        (lambda path: path.write_text("x = 1\n"), "changed while it was being fixed; left alone"),
    ],
)
def test_a_file_that_changes_meanwhile(
    leak: Path, change: Callable[[Path], object], error: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*arguments: object) -> object:
        done = fix(*arguments)  # type: ignore[arg-type]
        change(leak / "leak.py")
        return done

    monkeypatch.setattr("flake8_torchleak.shells.repair.fix", slow)
    assert main(["check", "--fix", "leak.py"]) == 2
    assert one_error(capsys) == f"torchleak: error: leak.py: {error}\n"
    assert [(each.name, each.read_text()) for each in leak.iterdir()] in ([], [("leak.py", "x = 1\n")])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_disk_or_a_folder_without_rights(
    leak: Path, number: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(write, "_exchange", refuse)
    assert main(["check", "--fix"]) == 2
    assert one_error(capsys) == f"torchleak: error: leak.py: cannot be written: {os.strerror(number)}; left alone\n"
    assert (leak / "leak.py").read_text() == LEAK


def test_characters_that_would_change_by_themselves(leak: Path, capsys: Capture) -> None:
    # In this encoding the sign ¬ has two forms, of which Python writes one.
    raw = b"# coding: cp932\n# \xfa\x54\n" + LEAK.encode()
    (leak / "leak.py").write_bytes(raw)
    for how in ("--fix", "--diff"):
        assert main(["check", how]) == 2
        shown = capsys.readouterr()
        assert "leak.py: has characters that its encoding writes in several ways; left alone\n" in shown.err
        assert (leak / "leak.py").read_bytes() == raw
    assert main(["check", "--fix", "--ignore=TLK4"]) == 0


def test_what_does_not_parse_is_left_and_others_are_fixed(leak: Path, capsys: Capture) -> None:
    (leak / "broken.py").write_bytes(LEAK.encode() + b"x = (\n")
    (leak / "encoded.py").write_bytes(LEAK.encode() + b"# \xe9\n")
    assert main(["check", "--fix"]) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 2
    assert "torchleak: error: broken.py:" in shown.err
    assert "torchleak: error: encoded.py: cannot decode: " in shown.err
    assert (leak / "leak.py").read_text() == FIXED
    assert (leak / "broken.py").read_bytes() == LEAK.encode() + b"x = (\n"


def test_symbolic_links_stay(leak: Path) -> None:
    (leak / "folder").mkdir()
    (leak / "leak.py").rename(leak / "folder" / "real.txt")
    (leak / "link.py").symlink_to("folder/real.txt")
    assert main(["check", "--fix", "link.py"]) == 0
    assert os.readlink(leak / "link.py") == "folder/real.txt"
    assert (leak / "folder" / "real.txt").read_text() == FIXED


def test_permissions_stay(leak: Path) -> None:
    (leak / "leak.py").chmod(0o750)
    assert main(["check", "--fix"]) == 0
    assert (leak / "leak.py").stat().st_mode & 0o777 == 0o750


def test_an_interrupt_between_files_leaves_each_old_or_new(
    leak: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (leak / f"more{number}.py").write_text(LEAK)
    calls = []

    def interrupt(path: str, old: bytes, new: bytes) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise KeyboardInterrupt
        write.replace(path, old, new)

    monkeypatch.setattr("flake8_torchleak.shells.placing.replace", interrupt)
    assert main(["check", "--fix"]) == 130
    assert capsys.readouterr().err == ""
    assert sorted(each.read_text() for each in leak.iterdir()) == sorted([FIXED] * 2 + [LEAK] * 3)


WITHOUT = """
import sys
sys.modules["libcst"] = None
from flake8_torchleak.shells.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("how", ["--fix", "--diff"])
def test_without_libcst(leak: Path, how: str) -> None:
    run = python("-c", WITHOUT, "check", how, cwd=leak)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr == b"torchleak: error: fixing needs libcst: pip install 'flake8-torchleak[fix]'\n"
    assert (leak / "leak.py").read_text() == LEAK
    run = python("-c", WITHOUT, "check", cwd=leak)
    assert (run.returncode, run.stderr) == (1, b"")
    assert b"fix (safe): use `loss.detach()`" in run.stdout


def test_a_pipe_in_processes_of_their_own(leak: Path) -> None:
    raw = LEAK.replace("\n", "\r\n").encode()
    run = torchleak("check", "--fix", "leak.py", "-", cwd=leak, stdin=raw)
    assert (run.returncode, run.stdout) == (0, raw.replace(b"+= loss", b"+= loss.detach()"))
    assert run.stderr == b"Fixed 2 findings in 2 files.\nNo findings, 2 files checked.\n"
    assert (leak / "leak.py").read_text() == FIXED
